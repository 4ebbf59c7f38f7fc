import { spawnSync } from 'node:child_process'
import { expect, test } from '@jest/globals'

const programs = new URL('../../lib/processes/programs.mjs', import.meta.url).href
const { SERVICE_OPTIONS } = (await import(programs)) as { SERVICE_OPTIONS: readonly string[] }

// What they are good for can only be measured: npm run bench has the pauses in it.
test('the running Node accepts every option of the services', () => {
  const ran = spawnSync(process.execPath, [...SERVICE_OPTIONS, '--eval', 'console.log("runs")'], { encoding: 'utf8' })
  expect({ output: ran.stdout, complaints: ran.stderr }).toEqual({ output: 'runs\n', complaints: '' })
})
