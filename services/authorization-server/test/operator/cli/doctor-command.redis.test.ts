import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Environment } from '@valetkey/service-kit'
import { Client } from 'pg'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

const MAIN = path.resolve(import.meta.dirname, '../../../dist/operator/cli/main.js')

type Document = { findings: { check: string; severity: string; what: string }[]; fatal: number; warnings: number }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.createClient({ requiresPkce: false })
})
afterAll(() => server.close())

/** Runs `valetkey doctor` with only these settings in its environment. */
async function doctor(change: Environment = {}, args = ['--json']) {
  const environment = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    DATABASE_URL: server.config.databaseUrl,
    REDIS_URL: process.env.TEST_REDIS_URL,
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    ...change
  }
  const child = spawn(process.execPath, [MAIN, 'doctor', ...args], { env: environment as NodeJS.ProcessEnv })
  const said = { out: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.errors += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, ...said }
}

const severities = ({ findings }: Document) => new Map(findings.map(({ check, severity }) => [check, severity]))

test('working stores: every check is reported, and only the limits of the test servers are fatal', async () => {
  const { code, out } = await doctor()
  const document = JSON.parse(out) as Document
  const found = severities(document)
  expect(found.get('postgres')).toBe('ok')
  expect(found.get('postgres clock')).toBe('ok')
  expect(found.get('migrations')).toBe('ok')
  // The test cluster runs without fsync, and the tests connect as superuser.
  expect(found.get('postgres durability')).toBe('warning')
  expect(found.get('postgres role')).toBe('warning')
  expect(found.get('redis')).toBe('ok')
  expect(found.get('redis clock')).toBe('ok')
  expect(found.get('redis eviction')).toBe('ok')
  expect(found.get('PKCE')).toBe('warning')
  expect([code, document.fatal]).toEqual([0, 0])
})

test('in production, a superuser and fsync off are fatal, and the exit code is 1', async () => {
  const { code, out } = await doctor({ ISSUER: 'https://auth.example', RESOURCE_URL: 'https://files.example' })
  const document = JSON.parse(out) as Document
  const found = severities(document)
  expect([found.get('postgres role'), found.get('postgres durability'), code]).toEqual(['fatal', 'fatal', 1])
  expect(document.fatal).toBe(document.findings.filter(({ severity }) => severity === 'fatal').length)
})

test('sign-ins only from trusted proxies are a warning, until one has another address', async () => {
  const warnings = async () => {
    const found = severities(JSON.parse((await doctor({ TRUSTED_PROXIES: '10.0.0.0/8' })).out) as Document)
    return found.get('sign-in addresses')
  }
  const signIn = (address: string) =>
    server.database.query({
      name: 'insert_sign_in',
      text: `insert into audit_events (occurred_at, event, address, details) values (now(), 'sign_in_failed', $1, '{}')`,
      values: [address]
    })
  expect(await warnings()).toBe('ok')
  await signIn('10.0.0.1')
  expect(await warnings()).toBe('warning')
  await signIn('203.0.113.7:40001')
  expect(await warnings()).toBe('warning')
  await signIn('203.0.113.7')
  expect(await warnings()).toBe('ok')
})

test('each unreachable store is fatal, and no password is printed', async () => {
  const unreachable = `127.0.0.1:${await freePort()}`
  const { code, out, errors } = await doctor({
    DATABASE_URL: `postgres://u:hush@${unreachable}/d`,
    REDIS_URL: `redis://:hush@${unreachable}`
  })
  const found = severities(JSON.parse(out) as Document)
  expect([found.get('postgres'), found.get('redis'), found.get('ISSUER'), code]).toEqual(['fatal', 'fatal', 'ok', 1])
  expect(out + errors).not.toContain('hush')
})

test('missing rights of the role are reported, and readable tables are still checked', async () => {
  const owner = new Client({ connectionString: server.config.databaseUrl })
  await owner.connect()
  const role = `doctor_${new URL(server.config.databaseUrl).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
  await owner.query(`grant select, insert, update, delete on all tables in schema public to ${role}`)
  await owner.query(`revoke all on operator_keys from ${role}; revoke insert on audit_events from ${role}`)
  const url = new URL(server.config.databaseUrl)
  url.username = role
  url.password = 'secret'
  try {
    const { code, out } = await doctor({ DATABASE_URL: url.href })
    const { findings } = JSON.parse(out) as Document
    const fatal = findings.filter(({ severity }) => severity === 'fatal').map(({ check, what }) => `${check}: ${what}`)
    expect(fatal).toEqual([
      `postgres rights: ${role} may not select, insert, update and delete rows in audit_events, operator_keys`,
      `postgres rights: ${role} may not execute drop_access_token_buckets, make_access_token_buckets`,
      expect.stringMatching(/^credentials: cannot be read: .*operator_keys/)
    ])
    expect([findings.find(({ check }) => check === 'PKCE')?.severity, code]).toEqual(['warning', 1])
  } finally {
    await owner.query(`drop owned by ${role}; drop role ${role}`)
    await owner.end()
  }
})

test('a logo that prevents the start of the service is fatal', async () => {
  const { code, out } = await doctor({ PRODUCT_LOGO: '/nowhere.png', REDIS_URL: 'redis://127.0.0.1:9' })
  const { findings } = JSON.parse(out) as Document
  expect(findings).toMatchObject([{ check: 'PRODUCT_LOGO', severity: 'fatal' }])
  expect(code).toBe(1)
})

test('each unreadable setting is one fatal finding, printed as text', async () => {
  const { code, out, errors } = await doctor({ COOKIE_KEYS: 'hush', CODE_TTL: '30' }, [])
  expect(code).toBe(1)
  expect(out).toMatch(/^fatal +COOKIE_KEYS: every key must have at least 32 characters\n +The service/m)
  expect(out).toMatch(/^fatal +CODE_TTL: must be a whole number/m)
  expect(out).toMatch(/^2 fatal, 0 warnings, 0 ok\n$/m)
  expect(errors).toBe('valetkey: fatal findings: 2\n')
  expect(out).not.toContain('hush')
})
