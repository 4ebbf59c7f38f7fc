import { expect, test } from '@jest/globals'
import { readCommandLineConfig, readConfig } from '../src/config.js'

const settings = {
  ISSUER: 'https://auth.example',
  RESOURCE_URL: 'https://files.example',
  RESOURCE_DATABASE_URL: 'postgres://files:secret@db/files',
  PAGE_TOKEN_KEYS: 'k'.repeat(32),
  INTROSPECTION_URL: 'http://auth:4001/introspect',
  INTROSPECTION_CLIENT_ID: 'files',
  INTROSPECTION_CLIENT_SECRET: 'secret'
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    return (error as { problems: readonly string[] }).problems
  }
}

test('the defaults of contract §5', () => {
  expect(readConfig(settings)).toMatchObject({
    publicListen: { host: '0.0.0.0', port: 4100 },
    operatorListen: { host: '0.0.0.0', port: 4101 },
    trustedProxies: undefined,
    introspection: { cache: { seconds: 0 } },
    dpop: 'off',
    dpopNonces: 'off',
    drainDelay: 0,
    logLevel: 'info'
  })
})

test('one problem for each missing variable', () => {
  expect(problemsOf({}).map((line) => line.split(':')[0])).toEqual(Object.keys(settings))
})

test.each([
  { change: { INTROSPECTION_CACHE_TTL: '60' }, variable: 'REVOCATIONS_URL' },
  { change: { INTROSPECTION_CACHE_TTL: '-1' }, variable: 'INTROSPECTION_CACHE_TTL' },
  { change: { INTROSPECTION_URL: 'auth/introspect' }, variable: 'INTROSPECTION_URL' },
  { change: { RESOURCE_URL: 'https://files.example/' }, variable: 'RESOURCE_URL' },
  { change: { RESOURCE_DATABASE_URL: 'mysql://x' }, variable: 'RESOURCE_DATABASE_URL' },
  { change: { TRUSTED_PROXIES: 'proxy.internal' }, variable: 'TRUSTED_PROXIES' },
  { change: { TRUSTED_PROXIES: '0.0.0.0/0' }, variable: 'TRUSTED_PROXIES' },
  { change: { PAGE_TOKEN_KEYS: 'short' }, variable: 'PAGE_TOKEN_KEYS' },
  { change: { DPOP: 'on' }, variable: 'DPOP' },
  { change: { DPOP_NONCES: 'required' }, variable: 'DPOP_NONCES' },
  { change: { DPOP: 'allowed', DPOP_NONCES: 'optional' }, variable: 'DPOP_NONCES' },
  { change: { LOG_LEVEL: 'loud' }, variable: 'LOG_LEVEL' }
] as { change: Record<string, string>; variable: string }[])(
  'one problem with the name of the setting: $change',
  ({ change, variable }) => {
    const problems = problemsOf({ ...settings, ...change })
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${variable}: `))
  }
)

test('INTROSPECTION_CACHE_TTL is accepted with REVOCATIONS_URL', () => {
  const withFeed = { ...settings, INTROSPECTION_CACHE_TTL: '60', REVOCATIONS_URL: 'http://auth:4001/revocations' }
  const cache = { seconds: 60, revocationsUrl: 'http://auth:4001/revocations' }
  expect(readConfig(withFeed).introspection).toMatchObject({ cache })
})

test('the command line reads only the database URL', () => {
  const { RESOURCE_DATABASE_URL } = settings
  expect(readCommandLineConfig({ RESOURCE_DATABASE_URL })).toEqual({ databaseUrl: RESOURCE_DATABASE_URL })
})
