import { spawn } from 'node:child_process'
import { userInfo } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { userNameKey } from '@valetkey/sign-in-rules'
import { Client } from 'pg'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'

const PROGRAM = path.resolve(import.meta.dirname, '../../../dist/operator/cli/main.js')

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

type Run = { code: number | null; out: string; errors: string }

/** Runs the installed command in its own process with only this environment. */
function run(args: readonly string[], environment: Record<string, string> = {}, stdin = ''): Promise<Run> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { env: environment, stdio: 'pipe' })
    const result: Run = { code: null, out: '', errors: '' }
    child.stdout.on('data', (chunk) => {
      result.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      result.errors += chunk
    })
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    child.once('close', (code) => resolve({ ...result, code }))
  })
}

test('--help without settings prints to stdout and is 0', async () => {
  const { code, out, errors } = await run(['clients', 'create', '--help'])
  expect([code, errors]).toEqual([0, ''])
  expect(out).toMatch(/^Usage: valetkey clients create/)
})

test.each([
  { args: [], usage: 'Usage: valetkey [options] [command]' },
  { args: ['users'], usage: 'Usage: valetkey users [options] [command]' }
])('no command, $args: the help on stdout, and 0', async ({ args, usage }) => {
  const { code, out, errors } = await run(args)
  expect([code, errors, out.split('\n', 1)[0]]).toEqual([0, '', usage])
})

test('all options that are missing are named at once', async () => {
  const { code, errors } = await run(['clients', 'create'])
  expect([code, errors]).toEqual([2, 'error: pass --name <text>, --redirect-uri <uri>\n(see --help)\n'])
})

describe('wrong usage is 2 with a message on stderr', () => {
  test.each([
    { name: 'an unknown command', args: ['uesrs'] },
    { name: 'an unknown command of a group', args: ['users', 'crate'] },
    { name: 'an unknown option', args: ['users', 'list', '--jason'] },
    { name: 'a missing argument', args: ['users', 'create', '--password-stdin'] }
  ])('$name', async ({ args }) => {
    const { code, out, errors } = await run(args, { DATABASE_URL: database.url })
    expect([code, out]).toEqual([2, ''])
    expect(errors).not.toBe('')
  })

  test('no DATABASE_URL', async () => {
    const { code, out, errors } = await run(['users', 'list'])
    expect([code, out]).toEqual([2, ''])
    expect(errors).toMatch(/^valetkey: DATABASE_URL: is missing: [^\n]+\n$/)
  })
})

describe('all commands work with DATABASE_URL only', () => {
  test('migrate, twice', async () => {
    const environment = { DATABASE_URL: database.url }
    const first = await run(['migrate', '--json'], environment)
    expect([first.code, first.errors]).toEqual([0, ''])
    expect(JSON.parse(first.out).applied[0]).toBe('0001_create_users.sql')
    const second = await run(['migrate', '--json'], environment)
    expect([second.code, JSON.parse(second.out)]).toEqual([0, { applied: [] }])
    expect((await run(['migrate'], environment)).out).toBe('The database is up to date.\n')
  })

  test('migrate makes the keys of names that have none', async () => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const insert =
      'insert into users (user_id, username, canonical_name, created_at) values (gen_random_uuid(), $1, $1, now())'
    await client.query(insert, ['Рита'])
    expect((await run(['migrate'], { DATABASE_URL: database.url })).code).toBe(0)
    const { rows } = await client.query("delete from users where username = 'Рита' returning name_key")
    await client.end()
    expect(rows).toEqual([{ name_key: userNameKey('Рита') }])
  })

  test('users create from a pipe', async () => {
    const environment = { DATABASE_URL: database.url }
    const created = await run(
      ['users', 'create', 'alice', '--password-stdin', '--json'],
      environment,
      'a password of words\n'
    )
    expect([created.code, created.errors]).toEqual([0, ''])
    expect(JSON.parse(created.out)).toMatchObject({ username: 'alice' })
    expect(JSON.parse((await run(['users', 'list', '--json'], environment)).out).users).toHaveLength(1)
    const again = await run(
      ['users', 'create', 'alice', '--password-stdin', '--json'],
      environment,
      'a password of words\n'
    )
    expect(again).toEqual({ code: 4, out: '', errors: 'valetkey: user alice exists already\n' })
  })
})

test('audit tail --follow prints new events, one document per line, until interrupted', async () => {
  const settings = { DATABASE_URL: database.url }
  const args = [PROGRAM, 'audit', 'tail', '--follow', '--json', '--event', 'user_disabled']
  const child = spawn(process.execPath, args, { env: settings, stdio: 'pipe' })
  const ended = new Promise((resolve) => child.once('close', (_code, signal) => resolve(signal)))
  const line = new Promise<string>((resolve) => child.stdout.once('data', (chunk) => resolve(String(chunk))))
  await run(['users', 'create', 'bob', '--password-stdin'], settings, 'a password of words')
  await run(['users', 'disable', 'bob', '--yes'], settings)
  expect(JSON.parse(await line)).toMatchObject({
    event: 'user_disabled',
    details: { username: 'bob', actor: { kind: 'command_line', name: userInfo().username } }
  })
  child.kill('SIGINT')
  expect(await ended).toBe('SIGINT')
})

test('a closed output pipe ends the command with 1 and without a stack trace', async () => {
  const settings = { DATABASE_URL: database.url }
  const child = spawn(process.execPath, [PROGRAM, 'users', 'list', '--json'], { env: settings, stdio: 'pipe' })
  child.stdout.destroy()
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect([code, errors]).toEqual([1, ''])
})

describe('a failure of Postgres is 1 with one line without the password', () => {
  const failures = [
    { name: 'Postgres is unreachable', url: async () => `postgres://auth:hush@127.0.0.1:${await freePort()}/auth` },
    { name: 'the host name is unknown', url: async () => 'postgres://auth:hush@nowhere.invalid/auth' },
    {
      name: 'the user is unknown',
      url: async () => Object.assign(new URL(database.url), { username: 'unknown', password: 'hush' }).href
    },
    {
      name: 'the database is unknown',
      url: async () => Object.assign(new URL(database.url), { pathname: '/nowhere' }).href
    }
  ].map((failure) => ({ ...failure, exit: 1 }))
  // A setting that is refused before Postgres is asked.
  const refused = {
    name: 'the URL cannot be decoded',
    url: async () => 'postgres://auth:hush%zz@127.0.0.1/auth',
    exit: 2
  }
  test.each([...failures, refused])('$name: exit code $exit', async ({ url, exit }) => {
    const settings = { DATABASE_URL: await url() }
    const runs = [['users', 'list', '--json'], ['migrate']].map((command) => run(command, settings))
    for (const { code, out, errors } of await Promise.all(runs)) {
      expect([code, out]).toEqual([exit, ''])
      expect(errors).toMatch(/^[^\n]+\n$/)
      expect(errors).not.toMatch(/hush|at .*\.js:/)
      expect(errors).not.toContain(new URL(database.url).password)
    }
  })

  test('a migration was changed after it had been applied', async () => {
    const other = await createTestDatabase()
    await run(['migrate'], { DATABASE_URL: other.url })
    const client = new Client({ connectionString: other.url })
    await client.connect()
    await client.query("update schema_migrations set checksum = 'another' where name like '0002%'")
    await client.end()
    const { code, out, errors } = await run(['migrate', '--json'], { DATABASE_URL: other.url })
    expect([code, out]).toEqual([1, ''])
    expect(errors).toMatch(/^valetkey: 0002_[^\n]*was changed[^\n]*\n$/)
    await other.drop()
  })

  test('the database was not migrated', async () => {
    const empty = await createTestDatabase()
    const { code, errors } = await run(['users', 'list'], { DATABASE_URL: empty.url })
    expect([code, errors]).toEqual([1, expect.stringMatching(/^valetkey: [^\n]*users[^\n]*\n$/)])
    await empty.drop()
  })
})
