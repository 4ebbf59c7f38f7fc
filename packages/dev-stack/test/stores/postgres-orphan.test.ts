import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { endOrphan } = await library('stores/postgres-orphan')

let directory: string
let lock: string
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-orphan-'))
  lock = path.join(directory, 'postmaster.pid')
})
afterAll(() => rmSync(directory, { recursive: true }))

test('a lock file whose process id belongs to another program: the file is removed, and the program keeps running', async () => {
  writeFileSync(lock, `${process.pid}\n${directory}\n`)
  await endOrphan(directory)
  expect(existsSync(lock)).toBe(false)
})

test('a server of an earlier run in this directory is stopped', async () => {
  const arguments_ = ['-e', 'setInterval(() => {}, 1000)', 'postgres', '-D', directory]
  const orphan = spawn(process.execPath, arguments_, { stdio: 'ignore' })
  const ended = new Promise((resolve) => orphan.once('exit', (_code, signal) => resolve(signal)))
  writeFileSync(lock, `${orphan.pid}\n${directory}\n`)
  await endOrphan(directory)
  expect(await ended).toBe('SIGINT')
})

test('a folder without a lock file is left alone', async () => {
  rmSync(lock, { force: true })
  await expect(endOrphan(directory)).resolves.toBeUndefined()
})
