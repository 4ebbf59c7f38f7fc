import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { ISSUER, until } from '../../../support/authorization-server.js'
import { deleteKeys } from '../../../support/delete-keys.js'
import { sendJson } from '../../../support/document-server.js'
import { post } from '../../../support/flow.js'
import { assertionForm, createSigningKey, type SigningKey } from '../../client-keys/support/assertions.js'
import { codeFor, exchangeOf, exchangeWith, refreshOf, refreshWith, useDiscovery } from '../support/discovery.js'
import { keySetOf } from '../support/published-documents.js'

const world = useDiscovery({ LIMITS_FACTOR: '100' })

/** The monotonic clock of the server, which the pause between two fetches of keys follows. */
const clock = { ahead: 0 }
const monotonicNow = performance.now.bind(performance)
const shifted = jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + clock.ahead)
const pass = (milliseconds: number) => {
  clock.ahead += milliseconds
}
const passPause = () => pass(30_000)
// The limits of fetches count by the minute.
beforeEach(() => pass(60_000))
afterAll(() => shifted.mockRestore())

const REQUIRED = { token_endpoint_auth_method: 'private_key_jwt' }
const BOTH = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] }

/** Publishes a document whose keys are beside it. @param methods of the document */
async function publish(path: string, methods: Record<string, unknown> = REQUIRED, ...more: readonly SigningKey[]) {
  const key = await createSigningKey('RS256')
  const jwksUri = world.documents.urlOf(`${path}/keys`)
  publishKeys(path, key, ...more)
  const clientId = world.documents.publish(path, { ...methods, jwks_uri: jwksUri })
  return { clientId, key, jwksUri }
}

function publishKeys(path: string, ...keys: readonly SigningKey[]): void {
  world.documents.respond(`${path}/keys`, sendJson(keySetOf(...keys)))
}

const fetchesOf = (path: string) => world.documents.requests.filter((requested) => requested === path).length

/** The next request for the document fetches it. */
const forgetDocuments = () => deleteKeys(world.server, 'vk:client-document:*')

async function tokensWith(clientId: string, key: SigningKey): Promise<{ refresh_token: string }> {
  const exchanged = await exchangeWith(world, await codeFor(world, clientId), await assertionForm(key, clientId))
  expect(exchanged.statusCode).toBe(200)
  return exchanged.json()
}

describe('a client whose document has private_key_jwt alone', () => {
  test('is refused with its id alone, also beside an assertion that fails; the code stays usable', async () => {
    const { clientId, key } = await publish('/required')
    const code = await codeFor(world, clientId)
    const wrong = await assertionForm(await createSigningKey('RS256', key.jwk.kid), clientId)
    for (const refused of [
      await exchangeOf(world, clientId, code),
      await exchangeWith(world, code, wrong),
      await exchangeWith(world, code, { ...wrong, client_id: clientId })
    ])
      expect([refused.statusCode, refused.json().error]).toEqual([401, 'invalid_client'])
    expect((await exchangeWith(world, code, await assertionForm(key, clientId))).statusCode).toBe(200)
  })

  test('may sign only with the algorithm of its document', async () => {
    const other = await createSigningKey('ES256')
    const { clientId, key } = await publish(
      '/algorithm',
      { ...REQUIRED, token_endpoint_auth_signing_alg: 'RS256' },
      other
    )
    const code = await codeFor(world, clientId)
    expect((await exchangeWith(world, code, await assertionForm(other, clientId))).statusCode).toBe(401)
    expect((await exchangeWith(world, code, await assertionForm(key, clientId))).statusCode).toBe(200)
  })

  test('may name the token endpoint as the audience in an assertion without typ', async () => {
    const { clientId, key } = await publish('/audience')
    const code = await codeFor(world, clientId)
    const payload = { aud: `${ISSUER}/token` }
    const typed = await assertionForm(key, clientId, { payload, header: { typ: 'JWT' } })
    expect((await exchangeWith(world, code, typed)).statusCode).toBe(401)
    expect((await exchangeWith(world, code, await assertionForm(key, clientId, { payload }))).statusCode).toBe(200)
  })

  test('revokes its token with an assertion', async () => {
    const { clientId, key } = await publish('/revoke')
    const { refresh_token: token } = await tokensWith(clientId, key)
    expect((await post(world.server, '/oauth/revoke', { token, client_id: clientId })).statusCode).toBe(401)
    const revoked = await post(world.server, '/oauth/revoke', { token, ...(await assertionForm(key, clientId)) })
    expect(revoked.statusCode).toBe(200)
  })
})

describe('a client whose document has both methods', () => {
  test('authenticates with either, and an assertion that fails is not replaced by its id', async () => {
    const { clientId, key } = await publish('/both', BOTH)
    const { refresh_token: withId } = (await exchangeOf(world, clientId, await codeFor(world, clientId))).json()
    const refreshed = await refreshWith(world, withId, await assertionForm(key, clientId))
    expect(refreshed.statusCode).toBe(200)
    const { refresh_token: next } = refreshed.json()
    const wrong = await assertionForm(await createSigningKey('RS256', key.jwk.kid), clientId)
    expect((await refreshWith(world, next, { ...wrong, client_id: clientId })).json().error).toBe('invalid_client')
    expect((await refreshOf(world, clientId, next)).statusCode).toBe(200)
  })
})

describe('a grant that was made with a key', () => {
  test('is refreshed with a key only, and the refusal ends nothing', async () => {
    const { clientId, key } = await publish('/no-downgrade', BOTH)
    const { refresh_token: token } = await tokensWith(clientId, key)
    const refused = await refreshOf(world, clientId, token)
    expect([refused.statusCode, refused.json().error]).toEqual([401, 'invalid_client'])
    const refreshed = await refreshWith(world, token, await assertionForm(key, clientId))
    expect(refreshed.statusCode).toBe(200)
    // The token is rotated now. Without the key, its reuse ends nothing, and no response is repeated.
    expect((await refreshOf(world, clientId, token)).json().error).toBe('invalid_client')
    const { refresh_token: next } = refreshed.json()
    expect((await refreshWith(world, next, await assertionForm(key, clientId))).statusCode).toBe(200)
  })

  test('needs the key also after the document has moved to none; it lives until the key is back', async () => {
    const { server, documents } = world
    const { clientId, key, jwksUri } = await publish('/moved')
    const { refresh_token: token } = await tokensWith(clientId, key)

    documents.publish('/moved', { token_endpoint_auth_method: 'none' })
    await forgetDocuments()
    const later = await exchangeOf(world, clientId, await codeFor(world, clientId))
    expect(later.statusCode).toBe(200)
    expect((await refreshOf(world, clientId, token)).json().error).toBe('invalid_client')
    expect((await refreshWith(world, token, await assertionForm(key, clientId))).json().error).toBe('invalid_client')
    // A grant that was made without the key needs none.
    expect((await refreshOf(world, clientId, later.json().refresh_token)).statusCode).toBe(200)

    documents.publish('/moved', { ...REQUIRED, jwks_uri: jwksUri })
    await forgetDocuments()
    await codeFor(world, clientId)
    await until(async () => (await server.deps.authorize.clients.find(clientId))?.privateKeyJwt === 'required')
    expect((await refreshWith(world, token, await assertionForm(key, clientId))).statusCode).toBe(200)
  })
})

describe('the record of a client with keys', () => {
  test('changes at Allow, with an audit entry about methods and keys', async () => {
    const { server, documents } = world
    const { clientId, key, jwksUri } = await publish('/changed')
    await codeFor(world, clientId)
    const other = await createSigningKey('RS256')
    publishKeys('/changed', key, other)
    await forgetDocuments()
    await codeFor(world, clientId)
    documents.publish('/changed', { token_endpoint_auth_method: 'none' })
    await forgetDocuments()
    await codeFor(world, clientId)
    await codeFor(world, clientId)

    const rows = (await auditRows(server)).filter(
      ({ event, client_id }) => client_id === clientId && /^client_d/.test(`${event}`)
    )
    const [first, second] = [key.jwk.kid, other.jwk.kid]
    expect(rows.map(({ event, details }) => ({ event, ...(details as object) }))).toEqual([
      expect.objectContaining({ event: 'client_discovered', privateKeyJwt: 'required', jwksUri }),
      { event: 'client_document_changed', changes: { keys: { from: [first], to: [first, second] } } },
      {
        event: 'client_document_changed',
        changes: {
          private_key_jwt: { from: 'required' },
          jwks_uri: { from: jwksUri },
          keys: { from: [first, second] }
        }
      }
    ])
  })
})

describe('keys that the host of a client replaces', () => {
  test('50 refreshes, 10 at a time, during 5 rotations: none is refused, and each rotation is one fetch', async () => {
    const { clientId, key } = await publish('/rotated')
    let current = key
    const tokens = await Promise.all(Array.from({ length: 10 }, () => tokensWith(clientId, key)))
    const before = fetchesOf('/rotated/keys')
    const statuses: number[] = []
    for (let rotation = 1; rotation <= 5; rotation++) {
      const next = await createSigningKey('RS256')
      publishKeys('/rotated', next, current)
      current = next
      passPause()
      const answers = await Promise.all(
        tokens.map(async ({ refresh_token: token }) =>
          refreshWith(world, token, await assertionForm(current, clientId))
        )
      )
      statuses.push(...answers.map(({ statusCode }) => statusCode))
      for (const [index, answer] of answers.entries()) Object.assign(tokens[index] ?? {}, answer.json())
    }
    expect(statuses).toEqual(Array.from({ length: 50 }, () => 200))
    expect(fetchesOf('/rotated/keys') - before).toBe(5)
  })

  test('in the document itself are read from there', async () => {
    const { documents } = world
    const [key, next] = [await createSigningKey(), await createSigningKey()]
    const clientId = documents.publish('/inline', { ...REQUIRED, jwks: keySetOf(key) })
    const { refresh_token: token } = await tokensWith(clientId, key)
    documents.publish('/inline', { ...REQUIRED, jwks: keySetOf(next) })
    expect((await refreshWith(world, token, await assertionForm(next, clientId))).statusCode).toBe(200)
  })

  test('of a host that is down: 503 with Retry-After, and the token works when it is back', async () => {
    const { clientId, key } = await publish('/down')
    const { refresh_token: token } = await tokensWith(clientId, key)
    const next = await createSigningKey('RS256')
    world.documents.respond('/down/keys', (response) => response.socket?.destroy())
    const unavailable = await refreshWith(world, token, await assertionForm(next, clientId))
    expect([unavailable.statusCode, unavailable.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(Number(unavailable.headers['retry-after'])).toBeGreaterThan(0)
    // The keys of before still work: no fetch is needed.
    const refreshed = await refreshWith(world, token, await assertionForm(key, clientId))
    expect(refreshed.statusCode).toBe(200)

    publishKeys('/down', next)
    passPause()
    const { refresh_token: rotated } = refreshed.json()
    expect((await refreshWith(world, rotated, await assertionForm(next, clientId))).statusCode).toBe(200)
  })

  test('are fetched once for many assertions with unknown kids', async () => {
    const { clientId, key } = await publish('/flood')
    const { refresh_token: token } = await tokensWith(clientId, key)
    const before = fetchesOf('/flood/keys')
    const strangers = await Promise.all(Array.from({ length: 20 }, () => createSigningKey('ES256')))
    const forms = await Promise.all(strangers.map((stranger) => assertionForm(stranger, clientId)))
    const answers = await Promise.all(forms.map((form) => refreshWith(world, token, form)))
    for (const { statusCode } of answers) expect([401, 503]).toContain(statusCode)
    expect(fetchesOf('/flood/keys') - before).toBe(1)
    expect((await refreshWith(world, token, await assertionForm(key, clientId))).statusCode).toBe(200)
  })
})
