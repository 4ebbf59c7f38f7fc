import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fetchKeySet, freshSeconds } from '../../../src/features/client-keys/fetch-key-set.js'
import { APP_HOST, type DocumentServer, sendJson, startDocumentServer } from '../../support/document-server.js'
import { createSigningKey, type SigningKey } from './support/assertions.js'

let host: DocumentServer
let key: SigningKey

beforeAll(async () => {
  host = await startDocumentServer()
  key = await createSigningKey('ES256', 'one')
})
afterAll(() => host.close())

function fetchSet(value: unknown, headers: Record<string, string> = {}) {
  host.respond('/jwks.json', sendJson(value, headers))
  const resolve = async () => [{ address: '127.0.0.1', family: 4 } as const]
  return fetchKeySet(host.urlOf('/jwks.json', APP_HOST), { resolve, ca: host.ca, allowsLoopback: true })
}

describe('the keys at a jwks_uri', () => {
  test('are returned with their kid and alg, and without keys for other purposes (RFC 7517 §5)', async () => {
    const { x, y } = key.jwk
    const others = [{ kty: 'oct', k: 'AA' }, { ...key.jwk, kid: 'two', use: 'enc' }, 'none']
    const extra = { ...key.jwk, x5c: ['x'], note: 'x' }
    expect(await fetchSet({ keys: [...others, extra] })).toEqual({
      kind: 'fetched',
      keys: [{ kty: 'EC', crv: 'P-256', x, y, kid: 'one', alg: 'ES256' }],
      freshSeconds: 300
    })
  })

  test('are also read as application/jwk-set+json of nearly 64 KiB', async () => {
    const padded = { keys: [key.jwk], padding: 'x'.repeat(64_000) }
    expect(await fetchSet(padded, { 'content-type': 'application/jwk-set+json' })).toMatchObject({ kind: 'fetched' })
  })

  test.each([
    { name: 'no set', value: [1], reason: 'key_set_not_usable' },
    { name: 'no usable key', value: { keys: [] }, reason: 'key_set_not_usable' },
    { name: '21 keys', value: { keys: Array.from({ length: 21 }, () => ({})) }, reason: 'key_set_not_usable' },
    { name: 'more than 64 KiB', value: { keys: [], x: 'x'.repeat(66_000) }, reason: 'document_too_large' }
  ])('are not used if the response has $name', async ({ value, reason }) => {
    expect(await fetchSet(value)).toMatchObject({ kind: 'failed', reason })
  })

  test('are not fetched from an address of a private network', async () => {
    const resolve = async () => [{ address: '10.0.0.1', family: 4 } as const]
    const fetched = await fetchKeySet('https://app.example/jwks', { resolve, allowsLoopback: true })
    expect(fetched).toMatchObject({ kind: 'failed', reason: 'document_address_refused' })
  })
})

test.each([
  [undefined, 300],
  ['public', 300],
  ['max-age=10', 60],
  ['public, max-age=1200', 1_200],
  ['max-age="600"', 600],
  ['max-age=99999', 3_600],
  ['no-store', 60],
  ['no-cache, max-age=1200', 60]
])('Cache-Control %s keeps fetched keys fresh for %s seconds', (cacheControl, seconds) => {
  expect(freshSeconds(cacheControl)).toBe(seconds)
})
