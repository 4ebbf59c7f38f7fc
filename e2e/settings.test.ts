import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { readConfig as readAuthorizationConfig } from '../services/authorization-server/src/config.js'
import { readConfig as readFilesConfig } from '../services/resource-server/src/config.js'
import { code, read, rowsBelow, sorted } from './support/documents.js'

const KEY = 'a-key-of-at-least-thirty-two-characters'
const PRODUCTION = { ISSUER: 'https://auth.example', RESOURCE_URL: 'https://files.example' }
const common = { ISSUER: 'http://localhost:4000', RESOURCE_URL: 'http://localhost:4100' }

// No server listens at these addresses, so a service that accepted a bad setting would fail with another message.
const authorizationServer = {
  ...common,
  DATABASE_URL: 'postgres://valetkey:secret-one@127.0.0.1:9/valetkey',
  REDIS_URL: 'redis://127.0.0.1:9',
  COOKIE_KEYS: KEY
}
const resourceServer = {
  ...common,
  RESOURCE_DATABASE_URL: 'postgres://valetkey:secret-two@127.0.0.1:9/files',
  PAGE_TOKEN_KEYS: KEY,
  INTROSPECTION_URL: 'http://127.0.0.1:9/introspect',
  INTROSPECTION_CLIENT_ID: 'files',
  INTROSPECTION_CLIENT_SECRET: 'secret-three'
}

type Row = [string, string, Record<string, string>, Record<string, string>, readonly string[]]
const rows: Row[] = [
  ['no setting at all', 'authorization-server', {}, {}, Object.keys(authorizationServer)],
  ['a missing variable', 'authorization-server', authorizationServer, { COOKIE_KEYS: '' }, ['COOKIE_KEYS']],
  ['a malformed URL', 'authorization-server', authorizationServer, { ISSUER: 'localhost 4000' }, ['ISSUER']],
  [
    'two invalid values',
    'authorization-server',
    authorizationServer,
    { DATABASE_URL: 'secret-four', CODE_TTL: '30' },
    ['DATABASE_URL', 'CODE_TTL']
  ],
  ['no setting at all', 'resource-server', {}, {}, Object.keys(resourceServer)],
  ['a missing variable', 'resource-server', resourceServer, { INTROSPECTION_URL: '' }, ['INTROSPECTION_URL']],
  ['a malformed URL', 'resource-server', resourceServer, { RESOURCE_URL: 'files.example' }, ['RESOURCE_URL']],
  [
    'a cache without the required feed',
    'resource-server',
    resourceServer,
    { INTROSPECTION_CACHE_TTL: '60' },
    ['REVOCATIONS_URL']
  ],
  [
    'a public issuer without TLS',
    'authorization-server',
    authorizationServer,
    { ISSUER: 'http://auth.example', RESOURCE_URL: 'http://files.example' },
    ['ISSUER', 'RESOURCE_URL']
  ],
  [
    'a weak key in production',
    'authorization-server',
    authorizationServer,
    { ...PRODUCTION, TRUSTED_PROXIES: 'none', COOKIE_KEYS: 'k'.repeat(40) },
    ['COOKIE_KEYS']
  ],
  [
    'a weak key in production',
    'resource-server',
    resourceServer,
    { ...PRODUCTION, TRUSTED_PROXIES: '10.0.0.1', PAGE_TOKEN_KEYS: 'change-me-'.repeat(4) },
    ['PAGE_TOKEN_KEYS']
  ],
  ['an https issuer without a proxy', 'authorization-server', authorizationServer, PRODUCTION, ['TRUSTED_PROXIES']],
  ['an https address without a proxy', 'resource-server', resourceServer, PRODUCTION, ['TRUSTED_PROXIES']]
]

test.each(rows)('%s stops the %s with one line for each variable', async (_case, service, settings, change, names) => {
  const { code, stdout, stderr } = await run(service, { ...settings, ...change })
  expect(code).toBe(1)
  const lines = stderr.trimEnd().split('\n')
  expect(lines.map((line) => line.split(': ')[0]).sort()).toEqual([...names].sort())
  expect(stdout + stderr).not.toMatch(/secret-|thirty-two|kkkk|change-me/)
})

type Service = [string, string, Record<string, string>, (environment: Record<string, string>) => object]
const both: Service[] = [
  ['authorization-server', '## Authorization server', authorizationServer, readAuthorizationConfig],
  ['resource-server', '## Resource server', resourceServer, readFilesConfig]
]
const documented = (heading: string) =>
  rowsBelow(read('docs/settings.md'), heading).map(([name]) => code(name)[0] ?? '')
const fixed = rowsBelow(read('docs/containers.md'), '## Settings').flatMap(([names]) => code(names))

describe.each(both)('docker-compose.yml: the %s', (service, heading, least, readConfig) => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment: Record<string, string>; stop_grace_period: string }>
  }
  const environment = services[service]?.environment ?? {}

  test('can set every setting except those listed in docs/containers.md', () => {
    const passed = Object.keys(environment).filter((name) => environment[name]?.startsWith(`\${${name}:-`))
    const given = Object.keys(environment).map((name) => name.replace(/_FILE$/, ''))
    const names = documented(heading)
    expect(sorted(passed)).toEqual(sorted(names.filter((name) => !fixed.includes(name))))
    expect(given.filter((name) => !names.includes(name))).toEqual([])
  })

  test('gets 30 seconds to stop, and more with STOP_GRACE_PERIOD, which a long DRAIN_DELAY needs', () => {
    expect(services[service]?.stop_grace_period).toBe(`\${STOP_GRACE_PERIOD:-30s}`)
  })

  test('has its defaults if nothing is set', () => {
    const empty = Object.keys(environment).filter((name) => environment[name] === `\${${name}:-}`)
    expect(empty.length).toBeGreaterThan(3)
    const unset = Object.fromEntries(empty.map((name) => [name, '']))
    expect(readConfig({ ...least, ...unset })).toEqual(readConfig(least))
  })
})

test('docs/containers.md lists only existing settings as fixed', () => {
  const names = both.flatMap(([, heading]) => documented(heading))
  expect(fixed.filter((name) => !names.includes(name))).toEqual([])
})

/** Starts a service with only these settings. */
function run(service: string, settings: Record<string, string>) {
  const main = fileURLToPath(new URL(`../services/${service}/dist/main.js`, import.meta.url))
  const child = spawn(process.execPath, [main], { env: settings, stdio: 'pipe' })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  )
}
