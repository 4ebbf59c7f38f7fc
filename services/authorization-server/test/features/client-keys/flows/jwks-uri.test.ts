import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Feature } from '../../../../src/feature.js'
import { clientKeys, createClientKeysFeature } from '../../../../src/features/client-keys/client-keys-feature.js'
import { FEATURES } from '../../../../src/features.js'
import { resolveHost } from '../../../../src/platform/fetch/resolve-host.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { type DocumentServer, sendJson, startDocumentServer } from '../../../support/document-server.js'
import { post } from '../../../support/flow.js'
import { assertionForm, createSigningKey, type SigningKey } from '../support/assertions.js'

let host: DocumentServer
let server: TestServer
let keys: SigningKey[]
let clientId: string

beforeAll(async () => {
  host = await startDocumentServer()
  const reaching = createClientKeysFeature({ resolve: resolveHost, ca: host.ca })
  const features: readonly Feature[] = FEATURES.map((feature) => (feature === clientKeys ? reaching : feature))
  server = await startTestServer({ CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true' }, undefined, features)
  keys = await Promise.all(['one', 'two', 'three'].map((kid) => createSigningKey('ES256', kid)))
  const jwksUri = host.urlOf('/jwks.json')
  clientId = (await server.createClient({ privateKeyJwt: 'required', jwksUri })).clientId
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const publish = (...published: readonly SigningKey[]) =>
  host.respond('/jwks.json', sendJson({ keys: published.map(({ jwk }) => jwk) }))

async function revokeWith(key: SigningKey | undefined) {
  if (key === undefined) throw new Error('no key')
  return post(server, '/oauth/revoke', { token: 'x', ...(await assertionForm(key, clientId)) })
}

test('a client is authenticated with the keys at its jwks_uri, also after a rotation, with one fetch each', async () => {
  const [one, two, three] = keys
  if (one === undefined || two === undefined || three === undefined) throw new Error('no keys')
  host.respond('/jwks.json', (response) => response.writeHead(500).end())
  const unavailable = await revokeWith(one)
  expect(unavailable.statusCode).toBe(503)
  expect(unavailable.headers['retry-after']).toBe('5')
  expect(unavailable.json()).toMatchObject({ error: 'temporarily_unavailable' })
  // The pause after a failure is of the client; another client with the same keys has none.
  const jwksUri = host.urlOf('/jwks.json')
  clientId = (await server.createClient({ privateKeyJwt: 'required', jwksUri })).clientId
  publish(one)
  expect((await revokeWith(one)).statusCode).toBe(200)
  expect((await revokeWith(one)).statusCode).toBe(200)
  expect(host.requests).toHaveLength(2)
  publish(two)
  const rotated = await Promise.all(Array.from({ length: 20 }, () => revokeWith(two)))
  expect(rotated.map(({ statusCode }) => statusCode)).toEqual(rotated.map(() => 200))
  expect(host.requests).toHaveLength(3)
  // The key that is not published any more is unknown, and the keys are not fetched again so soon.
  const unknown = await revokeWith(three)
  expect(unknown.statusCode).toBe(503)
  expect(Number(unknown.headers['retry-after'])).toBeGreaterThan(0)
  expect(host.requests).toHaveLength(3)
})
