import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { readCaller, readSettings, serviceVariables } = await library('start/settings')
const { resourceServerCredential } = await library('start/secrets')
const {
  authorizationServerEnvironment,
  demoClientEnvironment,
  demoProviderEnvironment,
  doctorEnvironment,
  givenCredential,
  resourceServerEnvironment
} = await library('start/environments')

const addresses = {
  issuer: 'http://localhost:4000',
  resourceUrl: 'http://localhost:4100',
  introspectionUrl: 'http://localhost:4001/introspect',
  revocationsUrl: 'http://localhost:4001/revocations',
  demoUrl: 'http://127.0.0.1:4200',
  demoProviderUrl: 'http://127.0.0.1:4300'
}

test.each([
  { name: 'no setting', caller: {}, changed: {} },
  {
    name: 'other ports',
    caller: { AUTH_PUBLIC_LISTEN: 'localhost:5000', FILES_PUBLIC_LISTEN: '127.0.0.1:5100', DEMO_LISTEN: ':5200' },
    changed: { issuer: 'http://localhost:5000', resourceUrl: 'http://localhost:5100', demoUrl: 'http://127.0.0.1:5200' }
  },
  {
    name: 'another loopback address of the internal listener',
    caller: { AUTH_INTERNAL_LISTEN: '[::1]:5001' },
    changed: { introspectionUrl: 'http://[::1]:5001/introspect', revocationsUrl: 'http://[::1]:5001/revocations' }
  },
  {
    name: 'a listener on another interface',
    caller: { AUTH_PUBLIC_LISTEN: '192.0.2.7:5000' },
    changed: { issuer: 'http://192.0.2.7:5000' }
  },
  {
    name: 'configured public URLs',
    caller: {
      AUTH_PUBLIC_LISTEN: ':5000',
      ISSUER: 'https://id.example',
      INTROSPECTION_URL: 'http://id:4001/introspect'
    },
    changed: { issuer: 'https://id.example', introspectionUrl: 'http://id:4001/introspect' }
  }
])('public URLs and addresses with $name', ({ caller, changed }) => {
  expect(readSettings(caller)).toMatchObject({ ...addresses, ...changed })
})

test('one line for every malformed listener and every port used twice', () => {
  const caller = { DEMO_LISTEN: 'nowhere', AUTH_OPERATOR_LISTEN: 'localhost:0', FILES_PUBLIC_LISTEN: 'localhost:4000' }
  expect(() => readSettings(caller)).toThrow(
    /^AUTH_OPERATOR_LISTEN: .*\nDEMO_LISTEN: .*\nFILES_PUBLIC_LISTEN: port 4000 .* AUTH_PUBLIC_LISTEN$/
  )
})

test.each([
  { name: 'the caller names providers', caller: { SIGN_IN_PROVIDERS: '[]' }, options: {} },
  { name: '--no-demo-provider is given', caller: {}, options: { demoProvider: false } }
])('there is no demo provider, and its port may be taken, if $name', ({ caller, options }) => {
  const settings = readSettings({ ...caller, DEMO_PROVIDER_LISTEN: 'localhost:4000' }, options)
  expect(settings).toMatchObject({ demoProviderUrl: undefined, listen: { provider: undefined } })
  const environment = authorizationServerEnvironment(caller, settings, everything)
  expect(environment.SIGN_IN_PROVIDERS).toBe(caller.SIGN_IN_PROVIDERS)
})

test('the demo provider is refused on an address that others reach, because it asks for no password', () => {
  for (const address of [':4300', '192.0.2.7:4300']) {
    expect(() => readSettings({ DEMO_PROVIDER_LISTEN: address })).toThrow('DEMO_PROVIDER_LISTEN: must be on a loopback')
  }
})

test('the demo provider and the authorization server share one client, whose secret no other process gets', () => {
  const settings = readSettings({})
  const environment = authorizationServerEnvironment({}, settings, everything)
  const [setting] = JSON.parse(environment.SIGN_IN_PROVIDERS)
  expect(setting).toMatchObject({ id: 'demo', issuer: 'http://127.0.0.1:4300', provisioning: 'create' })
  const provider = demoProviderEnvironment({ COOKIE_KEYS: 'a', DATABASE_URL: 'b' }, settings, secrets)
  expect(JSON.parse(provider.DEMO_PROVIDER_CLIENT)).toEqual({
    id: setting.client_id,
    secret: setting.client_secret,
    server: 'http://localhost:4000'
  })
  expect(Object.keys(provider).sort()).toEqual(['DEMO_PROVIDER_CLIENT', 'DEMO_PROVIDER_ISSUER', 'LISTEN'])
})

test('an empty variable counts as unset, and a _FILE variable is replaced by the file’s content', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-settings-'))
  const file = path.join(directory, 'url')
  writeFileSync(file, 'postgres://somewhere/else\n')
  const caller = readCaller({ ISSUER: '', DATABASE_URL_FILE: file, LOG_LEVEL: 'debug' })
  rmSync(directory, { recursive: true })
  expect(caller).toEqual({ DATABASE_URL: 'postgres://somewhere/else', LOG_LEVEL: 'debug' })
})

const secrets = {
  cookieKey: 'cookie key',
  pageTokenKey: 'page token key',
  demoProviderSecret: 'secret of the demo provider'
}
const everything = {
  databaseUrl: 'postgres://authorization',
  resourceDatabaseUrl: 'postgres://files',
  redisUrl: 'redis://here',
  credential: { id: 'id', secret: 'secret' },
  secrets
}

test('the caller’s values have precedence, and unknown variables are passed on', () => {
  const caller = { COOKIE_KEYS: 'mine', CODE_TTL: '5', LIMITS_FACTOR: '100' }
  const environment = authorizationServerEnvironment(caller, readSettings(caller), everything)
  expect(environment).toMatchObject({ COOKIE_KEYS: 'mine', CODE_TTL: '5', LIMITS_FACTOR: '100' })
})

test('commands in another terminal get the settings of the caller, such as the ways to sign in', () => {
  const caller = { LOCAL_SIGN_IN: 'false', SIGN_IN_PROVIDERS: '[]', SMTP_URL: 'smtp://mail', HOME: '/home/alice' }
  const environment = doctorEnvironment(caller, readSettings(caller), everything)
  expect(environment).toMatchObject({ LOCAL_SIGN_IN: 'false', SIGN_IN_PROVIDERS: '[]', SMTP_URL: 'smtp://mail' })
  expect(environment).not.toHaveProperty('HOME')
})

test('no process gets the secrets of another', () => {
  const caller = {
    COOKIE_KEYS: 'a',
    PAGE_TOKEN_KEYS: 'b',
    DATABASE_URL: 'c',
    RESOURCE_DATABASE_URL: 'd',
    REDIS_URL: 'e'
  }
  const settings = readSettings(caller)
  const namesOf = (environment: object) => Object.keys(environment)
  expect(namesOf(resourceServerEnvironment(caller, settings, everything))).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(COOKIE_KEYS|DATABASE_URL|REDIS_URL)$/)])
  )
  expect(namesOf(authorizationServerEnvironment(caller, settings, everything))).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(PAGE_TOKEN_KEYS|RESOURCE_DATABASE_URL|INTROSPECTION_.*)$/)])
  )
  expect(namesOf(demoClientEnvironment(caller, settings, { id: 'i', secret: 's' })).sort()).toEqual(
    ['ISSUER', 'RESOURCE_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'BASE_URL', 'LISTEN'].sort()
  )
})

test('an introspection id without a secret is refused; both together are used', () => {
  expect(() => givenCredential({ INTROSPECTION_CLIENT_ID: 'x' })).toThrow('together')
  const given = { INTROSPECTION_CLIENT_ID: 'x', INTROSPECTION_CLIENT_SECRET: 'y' }
  expect(givenCredential(given)).toEqual({ id: 'x', secret: 'y' })
  expect(givenCredential({})).toBeUndefined()
})

test('each audience has its own credential, created once', () => {
  const kept = { resourceServers: {} }
  const first = resourceServerCredential(kept, 'http://localhost:4100')
  expect(resourceServerCredential(kept, 'http://localhost:5100')).not.toEqual(first)
  expect(resourceServerCredential(kept, 'http://localhost:4100')).toEqual(first)
})

test.each(['authorization-server', 'resource-server'])('every setting that the %s reads is in the list', (service) => {
  const folder = path.resolve(import.meta.dirname, `../../../../services/${service}/src`)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('config.ts'))
  const text = files.map((name) => readFileSync(path.join(folder, name), 'utf8')).join('\n')
  const read = [...text.matchAll(/read\.\w+\(\s*'([A-Z_]+)'/g)].map(([, name]) => name)
  expect(read.length).toBeGreaterThan(10)
  expect(read.filter((name) => !serviceVariables.includes(name))).toEqual([])
})
