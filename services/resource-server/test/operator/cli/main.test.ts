import { spawn } from 'node:child_process'
import path from 'node:path'
import { expect, test } from '@jest/globals'

const MAIN = path.resolve(import.meta.dirname, '../../../dist/operator/cli/main.js')

test('a closed output pipe ends the command with 1 and without a stack trace', async () => {
  const child = spawn(process.execPath, [MAIN, 'completion', 'bash'], { env: {}, stdio: 'pipe' })
  child.stdout.destroy()
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect([code, errors]).toEqual([1, ''])
})
