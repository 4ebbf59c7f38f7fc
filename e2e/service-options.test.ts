import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { SERVICE_OPTIONS } from '../packages/dev-stack/lib/processes/programs.mjs'

test('the images and npm start use the same Node options for a service', () => {
  const dockerfile = readFileSync(path.resolve(import.meta.dirname, '../infra/docker/Dockerfile'), 'utf8')
  const commands = dockerfile.split('\n').filter((line) => line.startsWith('CMD ['))
  expect(commands).toEqual([
    `CMD ${JSON.stringify(['node', ...SERVICE_OPTIONS, 'dist/main.js']).replaceAll(',', ', ')}`
  ])
})
