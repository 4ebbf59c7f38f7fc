import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { createSigningKey, withKeys } from '../../client-keys/support/assertions.js'
import { startRegistry, type TestRegistry } from '../../registry-file/support/registry-files.js'
import { UNDER_FAPI2 } from '../support/profiled-client.js'

const BASE = ['--name', 'Bank', '--redirect-uri', 'https://bank.example/cb', '--scope', 'files.read']
const SETTINGS = {
  type: 'confidential',
  profile: 'fapi2',
  auth_method: 'private_key_jwt',
  require_pkce: true,
  require_par: true,
  dpop_bound_access_tokens: true,
  refresh_rotation: false
}

let server: TestServer
let folder: string
let jwks: string
let rs256: string

beforeAll(async () => {
  server = await startTestServer()
  folder = mkdtempSync(path.join(tmpdir(), 'profile-'))
  jwks = await writeKey('ES256')
  rs256 = await writeKey('RS256', { alg: 'RS256' })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await server.close()
})

async function writeKey(algorithm: string, members: Record<string, string> = {}): Promise<string> {
  const { jwk } = await createSigningKey(algorithm)
  const file = path.join(folder, `${jwk.kid}.json`)
  writeFileSync(file, JSON.stringify({ keys: [{ ...jwk, ...members }] }))
  return file
}

const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])

async function created(...args: string[]): Promise<Record<string, unknown> & { client_id: string }> {
  const { code, out, said } = await clients('create', ...BASE, ...args, '--json')
  expect([code, said]).toEqual([0, ''])
  return JSON.parse(out)
}

async function refused(...args: string[]): Promise<string> {
  const { code, said } = await clients(...args)
  expect(code).toBe(2)
  return said
}

describe('clients create --profile fapi2', () => {
  test('sets all that the profile requires, and there is no secret', async () => {
    const client = await created('--profile', 'fapi2', '--jwks', jwks)
    expect(client).toMatchObject(SETTINGS)
    expect(client).not.toHaveProperty('client_secret')
  })

  test('takes the address of the keys', async () => {
    expect(await created('--profile', 'fapi2', '--jwks-uri', 'https://bank.example/jwks')).toMatchObject(SETTINGS)
  })

  test('says in one message all that is missing', async () => {
    const said = await refused('create', ...BASE, '--public', '--profile', 'fapi2', '--refresh-rotation')
    for (const point of [
      'type must be confidential',
      'auth_method must be private_key_jwt, with jwks or jwks_uri',
      'refresh_rotation must be false'
    ]) {
      expect(said).toContain(point)
    }
  })

  test.each<{ name: string; args: () => string[]; said: string }>([
    { name: 'a secret', args: () => [], said: 'auth_method must be private_key_jwt' },
    {
      name: 'the method client_secret',
      args: () => ['--auth-method', 'client_secret'],
      said: 'auth_method must be private_key_jwt'
    },
    { name: 'a key for RS256', args: () => ['--jwks', rs256], said: 'no key may have the alg RS256' },
    {
      name: 'rotation',
      args: () => ['--jwks', jwks, '--refresh-rotation'],
      said: 'the profile fapi2 does not allow this: refresh_rotation must be false'
    }
  ])('is refused with $name', async ({ args, said }) => {
    expect(await refused('create', ...BASE, '--profile', 'fapi2', ...args())).toContain(said)
  })

  test('is refused with another name', async () => {
    expect(await refused('create', ...BASE, '--profile', 'fapi1')).toContain('profile must be none or fapi2')
  })
})

describe('clients update', () => {
  test.each<{ option: string; said: string }>([
    { option: '--no-dpop-bound', said: 'dpop_bound_access_tokens must be true' },
    { option: '--no-require-par', said: 'require_par must be true' },
    { option: '--no-require-pkce', said: 'require_pkce must be true' },
    { option: '--refresh-rotation', said: 'refresh_rotation must be false' },
    { option: '--auth-method=client_secret', said: 'auth_method must be private_key_jwt' }
  ])('$option is refused for a client under the profile', async ({ option, said }) => {
    const { client_id: id } = await created('--profile', 'fapi2', '--jwks', jwks)
    expect(await refused('update', id, option)).toContain(said)
    expect(JSON.parse((await clients('show', id, '--json')).out)).toMatchObject(SETTINGS)
  })

  test('--profile fapi2 changes a client with a secret, whose secret ends', async () => {
    const { client_id: id } = await created()
    expect(await refused('update', id, '--profile', 'fapi2')).toContain('with jwks or jwks_uri')
    const { code, out } = await clients('update', id, '--profile', 'fapi2', '--jwks', jwks, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject(SETTINGS)
    expect(JSON.parse((await clients('secrets', id, '--json')).out).secrets).toEqual([])
  })

  test('--profile none ends the profile, and its settings stay until they are changed', async () => {
    const { client_id: id } = await created('--profile', 'fapi2', '--jwks', jwks)
    const { out } = await clients('update', id, '--profile', 'none', '--json')
    expect(JSON.parse(out)).toMatchObject({ ...SETTINGS, profile: 'none' })
    expect((await clients('update', id, '--no-dpop-bound')).code).toBe(0)
  })

  test('keys add refuses a key for RS256, and takes another', async () => {
    const { client_id: id } = await created('--profile', 'fapi2', '--jwks', jwks)
    expect(await refused('keys', 'add', id, '--jwks', rs256)).toContain('no key may have the alg RS256')
    expect((await clients('keys', 'add', id, '--jwks', await writeKey('PS256'))).code).toBe(0)
  })
})

describe('profile in the registry file', () => {
  const ENTRY = {
    client_id: 'bank',
    name: 'Bank',
    redirect_uris: ['https://bank.example/cb'],
    scope: 'files.read',
    profile: 'fapi2'
  }
  const NOTHING = { code: 0, out: 'Nothing to change\n', said: '' }
  let registry: TestRegistry

  beforeAll(async () => {
    registry = await startRegistry()
  })
  afterAll(() => registry.close())

  test('sets all that it requires, needs no secret, and is exported; a second run changes nothing', async () => {
    const document = { clients: [{ ...ENTRY, jwks: JSON.parse(readFileSync(jwks, 'utf8')) }] }
    const stdin = JSON.stringify(document)
    const { code } = await runCommand(server.database, ['apply', '-f', '-', '--dry-run'], { stdin })
    expect(code).toBe(0)
    expect((await registry.apply(document)).code).toBe(0)
    const exported = await registry.exported()
    expect(exported.clients).toMatchObject([{ ...ENTRY, profile: 'fapi2', refresh_rotation: false }])
    expect(await registry.apply(document)).toEqual(NOTHING)
    expect(await registry.apply({ clients: exported.clients })).toEqual(NOTHING)
  })

  test('is refused with all that contradicts it', async () => {
    const entry = { ...ENTRY, require_par: false, dpop_bound_access_tokens: false }
    const { code, said } = await registry.apply({ clients: [entry] })
    expect(code).not.toBe(0)
    for (const member of ['auth_method', 'require_par', 'dpop_bound_access_tokens']) expect(said).toContain(member)
  })
})

test.each<{ name: string; change: string }>([
  { name: 'rotated refresh tokens', change: 'rotates_refresh_tokens = true' },
  { name: 'bearer tokens', change: 'dpop_bound = false' },
  { name: 'requests of the browser', change: 'requires_par = false' },
  { name: 'no PKCE', change: 'requires_pkce = false' },
  { name: 'a secret', change: 'private_key_jwt = null' },
  { name: 'keys that it need not use', change: `private_key_jwt = 'allowed'` },
  { name: 'the type public', change: `type = 'public', rotates_refresh_tokens = true` },
  { name: 'an unknown profile', change: `profile = 'fapi3'` }
])('Postgres refuses a client under the profile with $name', async ({ change }) => {
  const { clientId } = await server.createClient({ ...UNDER_FAPI2, ...withKeys(await createSigningKey()) })
  const text = `update clients set ${change} where client_id = $1`
  await expect(server.database.query({ name: 'test_break_profile', text, values: [clientId] })).rejects.toThrow(/check/)
})
