import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'

let server: TestServer
let directory: string
beforeAll(async () => {
  server = await startTestServer()
  directory = await mkdtemp(path.join(tmpdir(), 'import-memory-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true })
  await server.close()
})

test('an import refuses a hash that needs more memory than PASSWORD_MEMORY, and accepts others', async () => {
  const passwordHash = `$argon2id$v=19$m=65536,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$${'BwcH'.repeat(10)}BwcHBw`
  const file = path.join(directory, 'users.ndjson')
  await writeFile(file, JSON.stringify({ username: 'alice', password_hash: passwordHash }))
  const run = (memory: string) =>
    runCommand(server.database, ['users', 'import', file, '--dry-run'], { environment: { PASSWORD_MEMORY: memory } })
  const refused = await run('63')
  expect([refused.code, refused.said]).toEqual([
    expect.any(Number),
    expect.stringContaining('line 1: password_hash: it needs 64 MiB of memory, and PASSWORD_MEMORY is 63')
  ])
  expect(refused.code).not.toBe(0)
  expect((await run('64')).code).toBe(0)
})
