import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { library } from '../support/library.js'
import { descendantsOf, isAlive } from '../support/process-tree.js'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS, until } from '../support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

const { succeeds } = await library('processes/programs')

let checkout: StandInCheckout
beforeAll(async () => {
  checkout = await createStandInCheckout()
})
afterAll(() => checkout.dispose())

const given = process.env.TEST_POSTGRES_URL

/** Root in a container without name spaces needs setpriv for that. */
function canRunPostgres(): boolean {
  return process.getuid?.() !== 0 || succeeds(['unshare', '--user', 'true'])
}

/** A PATH that holds these programs of this machine and no other. */
function pathWith(name: string, programs: string[]): string {
  const folder = checkout.file(name)
  mkdirSync(folder)
  for (const program of programs) {
    const found = process.env.PATH?.split(':').find((candidate) => existsSync(path.join(candidate, program)))
    if (found !== undefined) symlinkSync(path.join(found, program), path.join(folder, program))
  }
  return folder
}

test('without a Redis server: Redis is emulated, and the line for Redis names the emulation', async () => {
  const launcher = checkout.start('start.mjs', [], {
    PATH: pathWith('no redis', ['true']),
    DATABASE_URL: given,
    RESOURCE_DATABASE_URL: given
  })
  await launcher.untilRunning()
  expect(launcher.said.stdout).toMatch(/Postgres: the given databases\n.*Redis: emulated.*redis-server/)
  launcher.child.kill('SIGTERM')
  expect(await launcher.ended).toMatchObject({ code: 0 })
  const log = readFileSync(checkout.file('.data/logs/authorization-server.log'), 'utf8')
  expect(log).toContain('{"emulated":"yes","redisUrl":"redis://emulated.invalid"}')
})

test('without setpriv: kill -9 leaves no process of Postgres or Redis', async () => {
  const launcher = checkout.start('start.mjs', [], {
    PATH: pathWith('no setpriv', ['true', 'unshare', 'redis-server', 'valkey-server']),
    ...(canRunPostgres() ? {} : { DATABASE_URL: given, RESOURCE_DATABASE_URL: given })
  })
  await launcher.untilRunning()
  const processes = descendantsOf(launcher.child.pid ?? 0)
  launcher.child.kill('SIGKILL')
  await until(() => processes.filter(isAlive).length === 0)
  expect(existsSync(checkout.file('.data/postgres/postmaster.pid'))).toBe(false)
})
