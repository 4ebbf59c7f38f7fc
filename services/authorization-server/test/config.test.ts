import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ConfigurationError, type Environment } from '@valetkey/service-kit'
import { readCommandLineConfig, readConfig } from '../src/config.js'

const MAIN = path.resolve(import.meta.dirname, '../dist/main.js')
const KEY = 'k'.repeat(32)

const REQUIRED = {
  ISSUER: 'https://auth.example',
  RESOURCE_URL: 'https://files.example',
  DATABASE_URL: 'postgres://auth:hush-database@db:5432/auth',
  REDIS_URL: 'rediss://:hush-redis@cache:6380',
  COOKIE_KEYS: KEY
}

let directory: string

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-config-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function problemsOf(environment: Environment): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems
  }
}

describe('unset variables (contract 5)', () => {
  test('have the defaults of the contract', () => {
    expect(readConfig(REQUIRED)).toEqual({
      issuer: REQUIRED.ISSUER,
      resourceUrl: REQUIRED.RESOURCE_URL,
      publicListen: { host: '0.0.0.0', port: 4000 },
      internalListen: { host: '0.0.0.0', port: 4001 },
      operatorListen: { host: '0.0.0.0', port: 4002 },
      databaseUrl: REQUIRED.DATABASE_URL,
      redisUrl: REQUIRED.REDIS_URL,
      cookieKeys: [KEY],
      codeTtl: 20,
      accessChoices: { choices: [], preselected: undefined },
      accessTokenTtl: 3600,
      refreshTokenIdleTtl: 1_209_600,
      refreshTokenMaxTtl: 7_776_000,
      refreshRetryWindow: 30,
      auditRetentionDays: 365,
      developerApps: 'off',
      dpop: 'off',
      dpopNonces: 'off',
      profile: 'none',
      signIn: {
        local: true,
        providers: [],
        handoff: undefined,
        helpUrl: undefined,
        // Depends on the memory of the container (sign-in-config-memory.test.ts).
        passwordMemory: expect.any(Number),
        passwordMinLength: 15,
        atLeastEvery: 0,
        securityMails: 'off',
        smtpUrl: undefined,
        mailFrom: undefined
      },
      clientMetadata: {
        policy: { mode: 'off', allow: [], deny: [], allowsLoopback: false },
        maxPerMinute: 120,
        refreshTokenMaxTtl: 1_209_600
      },
      limitsFactor: 1,
      pushedRequests: 'allowed',
      productName: 'Valetkey',
      drainDelay: 0,
      logLevel: 'info'
    })
  })

  test('the configuration is immutable', () => {
    expect(Object.isFrozen(readConfig(REQUIRED))).toBe(true)
  })

  test.each(Object.keys(REQUIRED))('without the required %s: one line with its purpose', (name) => {
    for (const value of [undefined, '']) {
      const problems = problemsOf({ ...REQUIRED, [name]: value })
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: is missing: .{10}`))])
      expect(problems[0]).not.toContain('\n')
    }
  })
})

describe('set variables', () => {
  test.each([
    { name: 'PUBLIC_LISTEN', value: '127.0.0.1:80', read: { publicListen: { host: '127.0.0.1', port: 80 } } },
    { name: 'INTERNAL_LISTEN', value: '[::1]:81', read: { internalListen: { host: '::1', port: 81 } } },
    { name: 'OPERATOR_LISTEN', value: ':82', read: { operatorListen: { host: '0.0.0.0', port: 82 } } },
    { name: 'TRUSTED_PROXIES', value: '10.0.0.0/8, ::1', read: { trustedProxies: ['10.0.0.0/8', '::1'] } },
    { name: 'TRUSTED_PROXIES', value: 'none', read: { trustedProxies: [] } },
    { name: 'COOKIE_KEYS', value: `${'n'.repeat(32)},${KEY}`, read: { cookieKeys: ['n'.repeat(32), KEY] } },
    { name: 'CODE_TTL', value: '29', read: { codeTtl: 29 } },
    { name: 'ACCESS_TOKEN_TTL', value: '60', read: { accessTokenTtl: 60 } },
    { name: 'REFRESH_TOKEN_IDLE_TTL', value: '61', read: { refreshTokenIdleTtl: 61 } },
    { name: 'REFRESH_TOKEN_MAX_TTL', value: '62', read: { refreshTokenMaxTtl: 62 } },
    { name: 'REFRESH_RETRY_WINDOW', value: '0', read: { refreshRetryWindow: 0 } },
    { name: 'AUDIT_RETENTION_DAYS', value: '0', read: { auditRetentionDays: 0 } },
    { name: 'LIMITS_FACTOR', value: '0.5', read: { limitsFactor: 0.5 } },
    { name: 'LOG_LEVEL', value: 'debug', read: { logLevel: 'debug' } },
    { name: 'ISSUER', value: 'http://localhost:4000', read: { issuer: 'http://localhost:4000' } },
    { name: 'ISSUER', value: 'https://example.com/auth', read: { issuer: 'https://example.com/auth' } }
  ] as { name: string; value: string; read: object }[])(
    '$name=$value is read, from a file as well',
    ({ name, value, read }) => {
      expect(readConfig({ ...REQUIRED, [name]: value })).toMatchObject(read)
      const file = path.join(directory, name)
      writeFileSync(file, `${value}\n`)
      expect(readConfig({ ...REQUIRED, [name]: undefined, [`${name}_FILE`]: file })).toMatchObject(read)
    }
  )

  test.each([
    ...['ISSUER', 'RESOURCE_URL'].flatMap((name) =>
      [
        'https://auth.example/',
        'https://auth.example?a=b',
        'https://auth.example#a',
        'https://user@auth.example',
        'https://AUTH.example',
        'ftp://auth.example',
        'auth.example'
      ].map((value) => ({ name, value }))
    ),
    ...['PUBLIC_LISTEN', 'INTERNAL_LISTEN', 'OPERATOR_LISTEN'].flatMap((name) =>
      ['4000', 'localhost', ':70000', 'http://localhost:4000'].map((value) => ({ name, value }))
    ),
    { name: 'TRUSTED_PROXIES', value: 'proxy.internal' },
    { name: 'TRUSTED_PROXIES', value: '10.0.0.0/64' },
    { name: 'DATABASE_URL', value: 'mysql://auth:hush@db/auth' },
    { name: 'DATABASE_URL', value: 'auth:hush@db' },
    { name: 'DATABASE_URL', value: 'postgres:hush' },
    { name: 'REDIS_URL', value: 'http://:hush@cache' },
    { name: 'REDIS_URL', value: 'cache:6379' },
    { name: 'COOKIE_KEYS', value: 'hush' },
    { name: 'COOKIE_KEYS', value: `${KEY},hush` },
    { name: 'COOKIE_KEYS', value: ',' },
    ...['0', '30', '-1', '1.5', 'ten', '20s'].map((value) => ({ name: 'CODE_TTL', value })),
    ...['0', '2592001', ''.padEnd(20, '9')].map((value) => ({ name: 'ACCESS_TOKEN_TTL', value })),
    ...['0', '315360001'].map((value) => ({ name: 'REFRESH_TOKEN_IDLE_TTL', value })),
    ...['0', '315360001'].map((value) => ({ name: 'REFRESH_TOKEN_MAX_TTL', value })),
    ...['-1', '301', 'off'].map((value) => ({ name: 'REFRESH_RETRY_WINDOW', value })),
    ...['0', '-1', 'off', '1,5'].map((value) => ({ name: 'LIMITS_FACTOR', value })),
    ...['INFO', 'verbose'].map((value) => ({ name: 'LOG_LEVEL', value }))
  ])('$name=$value is refused in one line that names the variable and no secret', ({ name, value }) => {
    const problems = problemsOf({ ...REQUIRED, [name]: value })
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: `))])
    expect(problems[0]).not.toMatch(/hush|\n/)
  })

  test('DPOP_NONCES without DPOP is refused, because no proof would be read', () => {
    expect(problemsOf({ ...REQUIRED, DPOP_NONCES: 'required' })).toEqual(['DPOP_NONCES: has no effect with DPOP=off'])
    expect(problemsOf({ ...REQUIRED, DPOP_NONCES: 'required', DPOP: 'allowed' })).toEqual([])
  })

  test('REDIS_CA without TLS is refused, because nothing would use it', () => {
    expect(problemsOf({ ...REQUIRED, REDIS_URL: 'redis://cache', REDIS_CA: 'PEM' })).toEqual([
      'REDIS_CA: has no effect without TLS: begin REDIS_URL with rediss'
    ])
    expect(problemsOf({ ...REQUIRED, REDIS_CA: 'PEM' })).toEqual([])
  })

  test('a variable that is also given as a file is refused', () => {
    expect(problemsOf({ ...REQUIRED, REDIS_URL_FILE: '/nowhere' })).toEqual([
      expect.stringMatching(/^REDIS_URL: is set twice/)
    ])
  })
})

describe('the process', () => {
  const run = (environment: Environment) =>
    spawnSync(process.execPath, [MAIN], { env: { ...environment }, encoding: 'utf8' })

  test('stops with 1 and prints all problems on stderr, one line each', () => {
    const { status, stdout, stderr } = run({
      ISSUER: 'https://auth.example/',
      DATABASE_URL: 'mysql://auth:hush@db/auth',
      REDIS_URL: 'cache:hush',
      COOKIE_KEYS: 'hush',
      CODE_TTL: '30'
    })
    expect([status, stdout]).toEqual([1, ''])
    const named = stderr
      .trimEnd()
      .split('\n')
      .map((line) => line.split(':')[0])
    expect(named).toEqual(['ISSUER', 'RESOURCE_URL', 'DATABASE_URL', 'REDIS_URL', 'COOKIE_KEYS', 'CODE_TTL'])
    expect(stderr).not.toMatch(/hush|at .*\.js:/)
  })
})

describe('the command line', () => {
  test('needs only the database', () => {
    const { DATABASE_URL } = REQUIRED
    expect(readCommandLineConfig({ DATABASE_URL })).toEqual({ databaseUrl: DATABASE_URL })
    expect(() => readCommandLineConfig({ ...REQUIRED, DATABASE_URL: '' })).toThrow(/^DATABASE_URL: is missing/)
  })
})
