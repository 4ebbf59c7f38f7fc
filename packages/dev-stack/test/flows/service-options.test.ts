import { spawnSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { SERVICE_OPTIONS } from '../../lib/processes/programs.mjs'

// What they are good for can only be measured: npm run bench has the pauses in it.
test('the running Node accepts every option of the services', () => {
  const ran = spawnSync(process.execPath, [...SERVICE_OPTIONS, '--eval', 'console.log("runs")'], { encoding: 'utf8' })
  expect({ output: ran.stdout, complaints: ran.stderr }).toEqual({ output: 'runs\n', complaints: '' })
})
