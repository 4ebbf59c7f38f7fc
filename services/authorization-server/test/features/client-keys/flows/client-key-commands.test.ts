import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { basic, post } from '../../../support/flow.js'
import { assertionForm, createClientWithKeys, createSigningKey, type SigningKey } from '../support/assertions.js'

let server: TestServer
let directory: string
let one: SigningKey
let two: SigningKey
let file: string

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-keys-'))
  ;[one, two] = await Promise.all([createSigningKey('ES256', 'one'), createSigningKey('PS256', 'two')])
  file = write({ keys: [one.jwk] })
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await server.close()
})

function write(content: unknown): string {
  const name = path.join(directory, randomUUID())
  writeFileSync(name, typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

const run = (args: readonly string[], stdin = '') => runCommand(server.database, args, { stdin })
const NEW = [
  'clients',
  'create',
  '--name',
  'Ledger',
  '--redirect-uri',
  'https://ledger.example/cb',
  '--scope',
  'files.read'
]

async function json<Value>(args: readonly string[], stdin = ''): Promise<Value> {
  const { code, out, said } = await run([...args, '--json'], stdin)
  if (code !== 0) throw new Error(said)
  return JSON.parse(out)
}

type Document = Record<string, unknown> & { client_id: string }
const create = (...args: string[]) => json<Document>([...NEW, ...args])
const methods = ['--auth-method', 'private_key_jwt']

async function statusWith(key: SigningKey, clientId: string): Promise<number> {
  return (await post(server, '/oauth/revoke', { token: 'x', ...(await assertionForm(key, clientId)) })).statusCode
}

async function untilStatus(key: SigningKey, clientId: string, status: number): Promise<void> {
  while ((await statusWith(key, clientId)) !== status);
}

async function eventsOf(clientId: string): Promise<string[]> {
  const text = 'select event from audit_events where client_id = $1 order by occurred_at, event'
  const rows = await server.database.query<{ event: string }>({ name: 'test_events', text, values: [clientId] })
  return rows.map(({ event }) => event).filter((event) => event !== 'request_refused')
}

describe('clients create and update with keys', () => {
  test('the new client has its keys and no secret', async () => {
    const document = await create(...methods, '--jwks', file)
    expect(document).toMatchObject({ auth_method: 'private_key_jwt', jwks: { keys: [{ kid: 'one', kty: 'EC' }] } })
    expect(document).not.toHaveProperty('client_secret')
    await untilStatus(one, document.client_id, 200)
  })

  test('a jwks_uri is stored without a fetch', async () => {
    const document = await create(...methods, '--jwks-uri', 'https://ledger.example/jwks.json')
    expect(document).toMatchObject({ auth_method: 'private_key_jwt', jwks_uri: 'https://ledger.example/jwks.json' })
    expect(document).not.toHaveProperty('jwks')
  })

  test('a method that is none creates a public client', async () => {
    const document = await create('--auth-method', 'none')
    expect(document).toMatchObject({ type: 'public', require_pkce: true })
    expect(document).not.toHaveProperty('auth_method')
  })

  test('a client that changes to keys loses its secrets for ever, and gets a new one after it changes back', async () => {
    const { clientId, clientSecret } = await server.createClient()
    await json(['clients', 'update', clientId, ...methods, '--jwks', file])
    await untilStatus(one, clientId, 200)
    const bySecret = () => post(server, '/oauth/revoke', { token: 'x' }, basic({ clientId, clientSecret }))
    expect((await bySecret()).statusCode).toBe(401)
    const rotate = ['clients', 'rotate-secret', clientId]
    expect((await run(rotate)).said).toMatch('authenticates with its keys')
    await json(['clients', 'update', clientId, '--auth-method', 'client_secret'])
    await untilStatus(one, clientId, 401)
    expect((await bySecret()).statusCode).toBe(401)
    const rotated = await json<{ client_secret: string }>(rotate)
    const renewed = { clientId, clientSecret: rotated.client_secret }
    while ((await post(server, '/oauth/revoke', { token: 'x' }, basic(renewed))).statusCode !== 200);
  })

  test('other settings change nothing about the keys', async () => {
    const { client_id: clientId } = await create(...methods, '--jwks', file)
    const changed = await json<Document>(['clients', 'update', clientId, '--name', 'Ledger 2'])
    expect(changed).toMatchObject({ name: 'Ledger 2', jwks: { keys: [{ kid: 'one' }] } })
    await untilStatus(one, clientId, 200)
  })

  test.each<{ name: string; args: () => string[]; said: string }>([
    { name: 'no keys', args: () => methods, said: 'pass the keys of the client as jwks' },
    {
      name: 'keys in two ways',
      args: () => [...methods, '--jwks', file, '--jwks-uri', 'https://a.example/'],
      said: 'pass jwks or jwks_uri, not both'
    },
    { name: 'keys and no method', args: () => ['--jwks', file], said: 'keys are for auth_method private_key_jwt' },
    { name: 'a public client', args: () => [...methods, '--public', '--jwks', file], said: 'a public client cannot' },
    { name: 'an unknown method', args: () => ['--auth-method', 'tls'], said: 'auth_method cannot be tls' },
    {
      name: 'an http jwks_uri',
      args: () => [...methods, '--jwks-uri', 'http://a.example/'],
      said: 'must be an https URL'
    },
    {
      name: 'a jwks_uri with a password',
      args: () => [...methods, '--jwks-uri', 'https://a:b@a.example/'],
      said: 'neither a user name nor a fragment'
    },
    { name: 'a file without keys', args: () => [...methods, '--jwks', write('x')], said: 'no JWK Set, JWK or PEM' },
    { name: 'an empty set', args: () => [...methods, '--jwks', write({ keys: [] })], said: 'jwks has no key' },
    {
      name: 'a private key',
      args: () => [...methods, '--jwks', write({ ...one.jwk, d: 'AA' })],
      said: 'members of a private or symmetric key'
    },
    {
      name: 'a point that is not on the curve',
      args: () => [...methods, '--jwks', write({ ...one.jwk, x: one.jwk.y })],
      said: 'not on its curve'
    },
    {
      name: 'a private key in PEM',
      args: () => [...methods, '--jwks', write('-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----')],
      said: 'has a private key'
    },
    {
      name: 'nine keys',
      args: () => [
        ...methods,
        '--jwks',
        write({ keys: Array.from({ length: 9 }, (_, i) => ({ ...one.jwk, kid: `${i}` })) })
      ],
      said: 'more than 8 keys'
    },
    {
      name: 'two keys with one kid',
      args: () => [...methods, '--jwks', write({ keys: [one.jwk, { ...two.jwk, kid: 'one' }] })],
      said: 'two keys with the same kid'
    }
  ])('$name is refused', async ({ args, said }) => {
    const result = await run([...NEW, ...args()])
    expect(result.code).not.toBe(0)
    expect(result.said).toMatch(said)
  })
})

describe('clients keys', () => {
  test('a rotation has no gap: add, use, remove', async () => {
    const { clientId } = await createClientWithKeys(server, one)
    const added = await json<{ keys: object[] }>(
      ['clients', 'keys', 'add', clientId, '--jwks-stdin'],
      JSON.stringify(two.jwk)
    )
    expect(added.keys).toMatchObject([{ kid: 'one' }, { kid: 'two', jwk: { kty: 'RSA' } }])
    await untilStatus(two, clientId, 200)
    expect(await statusWith(one, clientId)).toBe(200)
    await json(['clients', 'keys', 'remove', clientId, 'one', '--yes'])
    await untilStatus(one, clientId, 401)
    expect(await statusWith(two, clientId)).toBe(200)
    const listed = await run(['clients', 'keys', 'list', clientId])
    expect(listed.out).toMatch(/^KID\s+TYPE\s+CREATED\s+LAST USED\ntwo\s+RSA/)
    expect(await eventsOf(clientId)).toEqual(['client_key_added', 'client_key_removed'])
  })

  test('a repeated addition changes nothing', async () => {
    const { clientId } = await createClientWithKeys(server, one)
    expect(await json<{ keys: object[] }>(['clients', 'keys', 'add', clientId, '--jwks', file])).toMatchObject({
      keys: [{ kid: 'one' }]
    })
    expect(await eventsOf(clientId)).toEqual([])
  })

  test('ten additions at the same moment are all stored, up to eight keys', async () => {
    const { clientId } = await createClientWithKeys(server, one)
    const add = (index: number) =>
      run(['clients', 'keys', 'add', clientId, '--jwks-stdin'], JSON.stringify({ ...one.jwk, kid: `k${index}` }))
    const results = []
    for (let round = 0; round < 10; round += 2) results.push(...(await Promise.all([add(round), add(round + 1)])))
    expect(results.filter(({ code }) => code === 0)).toHaveLength(7)
    expect(results.at(-1)?.said).toMatch('at most 8 keys')
  })

  test('the only key is not removed, nor one that the client does not have', async () => {
    const { clientId } = await createClientWithKeys(server, one)
    expect((await run(['clients', 'keys', 'remove', clientId, 'one', '--yes'])).said).toMatch('the only key')
    expect((await run(['clients', 'keys', 'remove', clientId, 'x', '--yes'])).said).toMatch('has no key x')
  })

  test('a client with a secret, or with a jwks_uri, gets none', async () => {
    const { clientId } = await server.createClient()
    expect((await run(['clients', 'keys', 'add', clientId, '--jwks', file])).said).toMatch(
      '--auth-method private_key_jwt'
    )
    const { client_id: other } = await create(...methods, '--jwks-uri', 'https://a.example/jwks')
    expect((await run(['clients', 'keys', 'add', other, '--jwks', file])).said).toMatch('are at https://a.example/jwks')
  })

  test('a file in PEM has public keys', async () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const { clientId } = await createClientWithKeys(server, one)
    const pem = write(String(publicKey.export({ type: 'spki', format: 'pem' })))
    const added = await json<{ keys: { jwk: object }[] }>(['clients', 'keys', 'add', clientId, '--jwks', pem])
    expect(added.keys[1]?.jwk).toMatchObject({ kty: 'OKP', crv: 'Ed25519' })
  })
})

describe('the registry file', () => {
  test('creates clients with keys without a secret, changes keys, and its export changes nothing', async () => {
    const clientId = `ledger-${randomUUID()}`
    const entry = (keys: SigningKey[]) => ({
      client_id: clientId,
      name: 'Ledger',
      redirect_uris: ['https://ledger.example/cb'],
      scope: 'files.read',
      auth_method: 'private_key_jwt',
      jwks: { keys: keys.map(({ jwk }) => jwk) }
    })
    const apply = (keys: SigningKey[]) =>
      json<{ changes: object[] }>(['apply', '-f', write({ clients: [entry(keys)] })])
    expect((await apply([one])).changes).toMatchObject([{ kind: 'client', action: 'create' }])
    await untilStatus(one, clientId, 200)
    expect((await apply([one])).changes).toEqual([])
    expect((await apply([two, one])).changes).toMatchObject([{ action: 'update' }])
    expect((await apply([one, two])).changes).toEqual([])
    await untilStatus(two, clientId, 200)
    const exported = await json<{ clients: object[] }>(['export'])
    expect(exported.clients).toContainEqual(expect.objectContaining({ auth_method: 'private_key_jwt' }))
    expect((await json<{ changes: object[] }>(['apply', '-f', write(exported)])).changes).toEqual([])
  })

  test('names the place of keys that do not fit', async () => {
    const entry = { client_id: 'x', name: 'X', redirect_uris: ['https://x.example/cb'], scope: 'files.read' }
    const result = await run(['apply', '-f', write({ clients: [{ ...entry, auth_method: 'private_key_jwt' }] })])
    expect(result.said).toMatch('clients[0]: pass the keys of the client as jwks')
  })
})
