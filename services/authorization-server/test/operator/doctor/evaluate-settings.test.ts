import { describe, expect, test } from '@jest/globals'
import type { Environment } from '@valetkey/service-kit'
import { readConfig } from '../../../src/config.js'
import { evaluateClients } from '../../../src/operator/doctor/evaluate-clients.js'
import { evaluateCredentials } from '../../../src/operator/doctor/evaluate-credentials.js'
import { evaluateRedis } from '../../../src/operator/doctor/evaluate-redis.js'
import { evaluateSettings } from '../../../src/operator/doctor/evaluate-settings.js'
import { evaluateSignInAddresses } from '../../../src/operator/doctor/evaluate-sign-in-addresses.js'
import type { ClientState } from '../../../src/storage/postgres/registry-state.js'
import type { RedisState } from '../../../src/storage/redis/redis-state.js'

const now = new Date('2026-11-21T12:00:00Z')

const SETTINGS = {
  ISSUER: 'https://auth.example',
  RESOURCE_URL: 'https://files.example',
  DATABASE_URL: 'postgres://auth:hush@db/auth?sslmode=verify-full',
  REDIS_URL: 'rediss://valetkey:hush@cache',
  COOKIE_KEYS: '0123456789abcdef0123456789abcdef',
  TRUSTED_PROXIES: '10.0.0.0/8'
}

const evaluate = (change: Environment = {}) => evaluateSettings(readConfig({ ...SETTINGS, ...change }), { now })
const notWell = (findings: ReturnType<typeof evaluate>) =>
  findings.filter(({ severity }) => severity !== 'ok').map(({ check, severity }) => `${severity} ${check}`)

describe('settings', () => {
  test('good production settings are ok', () => {
    expect(notWell(evaluate())).toEqual([])
  })

  test('the settings of npm start are ok', () => {
    const local = {
      ISSUER: 'http://localhost:4000',
      RESOURCE_URL: 'http://localhost:4100',
      DATABASE_URL: 'postgres://auth:hush@127.0.0.1:5433/auth',
      REDIS_URL: 'redis://:hush@127.0.0.1:6379',
      TRUSTED_PROXIES: ''
    }
    expect(notWell(evaluate(local))).toEqual([])
  })

  test('the emulated Redis of npm start is one ok line, and fatal in production', () => {
    const local = { ISSUER: 'http://localhost:4000', RESOURCE_URL: 'http://localhost:4100', TRUSTED_PROXIES: '' }
    const of = (change: Environment) =>
      evaluate({ REDIS_URL: 'redis://emulated.invalid', ...change }).filter(({ check }) => /redis/i.test(check))
    expect(of(local)).toEqual([expect.objectContaining({ check: 'Redis', severity: 'ok' })])
    expect(of(local)[0]?.what).toContain('emulated by npm start')
    expect(of({})).toEqual([expect.objectContaining({ check: 'Redis', severity: 'fatal' })])
  })

  test.each<[Environment, readonly string[]]>([
    [{ ISSUER: 'http://auth.example' }, ['fatal ISSUER']],
    [{ RESOURCE_URL: 'http://files.example' }, ['fatal RESOURCE_URL']],
    [{ COOKIE_KEYS: 'k'.repeat(32) }, ['fatal COOKIE_KEYS']],
    [{ LIMITS_FACTOR: '10' }, ['warning LIMITS_FACTOR']],
    [{ LIMITS_FACTOR: '100' }, ['fatal LIMITS_FACTOR']],
    [{ LIMITS_FACTOR: '100', ISSUER: 'http://localhost:4000' }, ['warning LIMITS_FACTOR']],
    [{ DATABASE_URL: 'postgres://auth:hush@db/auth' }, ['warning DATABASE_URL']],
    [{ REDIS_URL: 'redis://:hush@cache' }, ['warning REDIS_URL']],
    [{ REDIS_URL: 'rediss://cache' }, ['warning REDIS_URL']],
    [{ REDIS_URL: 'redis+sentinel://:hush@127.0.0.1,two/main' }, ['warning REDIS_URL']],
    [{ TRUSTED_PROXIES: '' }, ['fatal TRUSTED_PROXIES']],
    [{ TRUSTED_PROXIES: '', ISSUER: 'https://localhost' }, ['fatal TRUSTED_PROXIES']],
    [{ TRUSTED_PROXIES: 'none' }, []],
    [{ TRUSTED_PROXIES: '10.0.0.0/8 0.0.0.0/1' }, ['warning TRUSTED_PROXIES']],
    [{ LOG_LEVEL: 'warn' }, ['warning LOG_LEVEL']],
    [{ ACCESS_TOKEN_TTL: '90000' }, ['warning ACCESS_TOKEN_TTL']],
    [{ REFRESH_TOKEN_IDLE_TTL: '8000000' }, ['warning REFRESH_TOKEN_IDLE_TTL']],
    [{ REFRESH_TOKEN_MAX_TTL: '40000000' }, ['warning REFRESH_TOKEN_MAX_TTL']],
    [{ REFRESH_RETRY_WINDOW: '120' }, ['warning REFRESH_RETRY_WINDOW']]
  ])('%j: %j, without a secret', (change, expected) => {
    const findings = evaluate(change)
    expect(notWell(findings)).toEqual(expected)
    expect(JSON.stringify(findings)).not.toMatch(/hush|0123456789abcdef/)
  })
})

describe('sign-in addresses', () => {
  const trusted = ['10.0.0.0/8', '2001:db8:aaaa::/48']

  test.each([
    { name: 'none', addresses: [], severity: 'ok' },
    { name: 'a client among proxies', addresses: ['10.0.0.1', '203.0.113.7', '10.0.0.1'], severity: 'ok' },
    { name: 'an IPv6 client', addresses: ['2001:db8::1'], severity: 'ok' },
    { name: 'proxies only', addresses: ['10.0.0.1', '10.0.0.2', '2001:db8:aaaa::5'], severity: 'warning' },
    { name: 'a proxy as IPv4 in IPv6', addresses: ['::ffff:10.0.0.1'], severity: 'warning' },
    { name: 'addresses with ports', addresses: ['203.0.113.7:40001', '203.0.113.7:40002'], severity: 'warning' },
    { name: 'texts', addresses: ['unknown', '_hidden'], severity: 'warning' }
  ])('$name: $severity', ({ addresses, severity }) => {
    expect(evaluateSignInAddresses(addresses, trusted).severity).toBe(severity)
  })
})

describe('Redis', () => {
  const well: RedisState = {
    version: '7.0.15',
    now: now.getTime(),
    evictionPolicy: 'noeviction',
    maxMemory: 0,
    appendOnly: true,
    snapshots: true
  }

  test.each<[Partial<RedisState>, readonly string[]]>([
    [{}, []],
    [{ version: '6.0.16' }, ['fatal redis']],
    [{ evictionPolicy: 'allkeys-lru' }, ['warning redis eviction']],
    [{ evictionPolicy: 'volatile-ttl', maxMemory: 1_000_000 }, ['fatal redis eviction']],
    [{ appendOnly: false }, ['warning redis persistence']],
    [{ appendOnly: false, snapshots: false }, ['warning redis persistence']],
    [{ appendOnly: false, snapshots: undefined }, []]
  ])('%j: %j', (change, expected) => {
    expect(notWell(evaluateRedis({ ...well, ...change }, 0))).toEqual(expected)
  })
})

describe('clients (RFC 9700, OWASP ASVS chapter 10)', () => {
  const well: ClientState = {
    clientId: 'printer',
    type: 'confidential',
    redirectUris: ['https://printer.example/callback', 'http://127.0.0.1/callback'],
    requiresPkce: true,
    issuesRefreshTokens: true,
    consent: 'remember',
    hasKey: false,
    endlessSecrets: 1,
    oldestSecretAt: new Date('2026-01-01')
  }
  const evaluate = (clients: readonly ClientState[], isProduction = true) =>
    evaluateClients(clients, { isProduction, now })

  test.each<[Partial<ClientState>, readonly string[]]>([
    [{}, []],
    [{ redirectUris: ['http://printer.example/callback'] }, ['fatal http redirect URIs']],
    [{ requiresPkce: false }, ['warning PKCE']],
    [{ type: 'public', consent: 'remember' }, ['warning consent of public clients']],
    [{ type: 'public', consent: 'ask', endlessSecrets: 0, oldestSecretAt: undefined }, []],
    [{ oldestSecretAt: new Date('2025-01-01') }, ['warning age of client secrets']],
    [{ endlessSecrets: 2 }, ['warning number of client secrets']],
    [{ hasKey: true, endlessSecrets: 0, oldestSecretAt: undefined }, []],
    [{ endlessSecrets: 0 }, ['warning end of client secrets']],
    [{ endlessSecrets: 0, oldestSecretAt: undefined }, ['warning end of client secrets']]
  ])('%j: %j', (change, expected) => {
    const findings = evaluate([{ ...well, ...change }])
    expect(notWell(findings)).toEqual(expected)
    expect(findings.filter(({ severity }) => severity !== 'ok').every(({ what }) => what.endsWith(': printer'))).toBe(
      true
    )
  })

  test('names five clients and counts the others', () => {
    const many = Array.from({ length: 8 }, (_, index) => ({ ...well, clientId: `c${index}`, requiresPkce: false }))
    expect(evaluate(many).find(({ check }) => check === 'PKCE')?.what).toMatch(/: c0, c1, c2, c3, c4 and 3 more$/)
  })
})

describe('credentials of resource servers and operators', () => {
  const young = new Date('2026-01-01')
  const old = new Date('2025-01-01')

  test.each([
    ['resource server', 'warning age of resource servers'],
    ['operator key', 'warning age of operator keys']
  ] as const)('a %s older than a year is named', (kind, expected) => {
    const findings = evaluateCredentials(
      [
        { kind, name: 'the-old-one', createdAt: old },
        { kind, name: 'the-young-one', createdAt: young }
      ],
      now
    )
    expect(notWell(findings)).toEqual([expected])
    expect(findings.find(({ severity }) => severity === 'warning')?.what).toMatch(/: the-old-one$/)
  })

  test('no credentials are ok', () => {
    expect(notWell(evaluateCredentials([], now))).toEqual([])
  })
})
