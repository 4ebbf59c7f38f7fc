import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from '@jest/globals'

const PROGRAM = path.resolve(import.meta.dirname, '../dist/main.js')

test('a reader that closes the pipe gets exit code 2 and no message', async () => {
  const child = spawn(process.execPath, [PROGRAM, '--list'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect([code, errors]).toEqual([2, ''])
})
