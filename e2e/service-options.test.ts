import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from '@jest/globals'

const programs = new URL('../packages/dev-stack/lib/processes/programs.mjs', import.meta.url).href
const { SERVICE_OPTIONS } = (await import(programs)) as { SERVICE_OPTIONS: readonly string[] }

test('the images and npm start use the same Node options for a service', () => {
  const dockerfile = readFileSync(path.resolve(import.meta.dirname, '../infra/docker/Dockerfile'), 'utf8')
  const commands = dockerfile.split('\n').filter((line) => line.startsWith('CMD ['))
  expect(commands).toEqual([
    `CMD ${JSON.stringify(['node', ...SERVICE_OPTIONS, 'dist/main.js']).replaceAll(',', ', ')}`
  ])
})
