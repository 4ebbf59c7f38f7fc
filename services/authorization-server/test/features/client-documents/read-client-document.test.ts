import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  type DocumentFetches,
  readClientDocument
} from '../../../src/features/client-documents/read-client-document.js'
import type { RefusalReason } from '../../../src/platform/clients/document-refusal.js'
import type { FetchedDocument } from '../../../src/platform/fetch/fetch-document.js'

const CLIENT_ID = 'https://app.example/client.json'
const JWKS_URI = 'https://keys.example/jwks'
const KEY = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'a' }
/** x and y have the right length, and are no point of P-256. */
const OFF_CURVE = { ...KEY, kid: 'b', x: Buffer.alloc(32, 1).toString('base64url') }

const sent = (value: unknown): FetchedDocument => ({
  kind: 'fetched',
  text: typeof value === 'string' ? value : JSON.stringify(value),
  cacheControl: 'max-age=60'
})
const failed = (reason: RefusalReason, detail = ''): FetchedDocument => ({
  kind: 'failed',
  refusal: { reason, detail }
})

const documentWith = (change: object) =>
  sent({
    client_id: CLIENT_ID,
    client_name: 'Paper Boat',
    redirect_uris: ['https://app.example/cb'],
    token_endpoint_auth_method: 'private_key_jwt',
    ...change
  })

function read(document: FetchedDocument, keys: FetchedDocument = failed('document_missing')) {
  const fetched: string[] = []
  const answer = (response: FetchedDocument) => async (url: string) => {
    fetched.push(url)
    return response
  }
  const fetch: DocumentFetches = { document: answer(document), keys: answer(keys) }
  return { fetched, result: readClientDocument(CLIENT_ID, fetch) }
}

describe('the keys of a client id metadata document', () => {
  test('at its jwks_uri are fetched with it', async () => {
    const { fetched, result } = read(documentWith({ jwks_uri: JWKS_URI }), sent({ keys: [{ kty: 'oct' }, KEY] }))
    expect(await result).toMatchObject({
      kind: 'read',
      metadata: { keys: { jwksUri: JWKS_URI, keys: [{ kid: 'a' }] } },
      skipped: [{ place: 'jwks_uri.keys[0]', reason: 'must have the kty EC, OKP or RSA' }],
      cacheControl: 'max-age=60'
    })
    expect(fetched).toEqual([CLIENT_ID, JWKS_URI])
  })

  test('in the document need no other fetch', async () => {
    const { fetched, result } = read(documentWith({ jwks: { keys: [KEY] } }))
    expect(await result).toMatchObject({ kind: 'read', metadata: { keys: { keys: [{ kid: 'a' }] } }, skipped: [] })
    expect(fetched).toEqual([CLIENT_ID])
  })

  test('of a public client are not fetched', async () => {
    const { fetched, result } = read(documentWith({ token_endpoint_auth_method: 'none', jwks_uri: JWKS_URI }))
    expect(await result).toEqual({
      kind: 'read',
      metadata: { name: 'Paper Boat', redirectUris: ['https://app.example/cb'] },
      skipped: [],
      cacheControl: 'max-age=60'
    })
    expect(fetched).toEqual([CLIENT_ID])
  })

  test('that are no point on their curve are skipped, or refused if they are all', async () => {
    const both = read(documentWith({ jwks: { keys: [OFF_CURVE, KEY] } }))
    expect(await both.result).toMatchObject({
      metadata: { keys: { keys: [{ kid: 'a' }] } },
      skipped: [{ reason: 'must be a point on its curve' }]
    })
    const { result } = read(documentWith({ jwks: { keys: [OFF_CURVE] } }))
    expect(await result).toMatchObject({ kind: 'failed', refusal: { reason: 'document_member_jwks' } })
  })

  test.each([
    ['a host that does not respond', failed('document_timeout'), 'document_keys_unreachable', ''],
    ['a host with an internal address', failed('document_address_refused'), 'document_keys_address_refused', ''],
    ['a missing set', failed('document_missing', 'Status 404.'), 'document_member_jwks_uri', 'jwks_uri: Status 404.'],
    ['text that is no JSON', sent('<html>'), 'document_member_jwks_uri', 'array keys'],
    ['a set without keys', sent({ keys: [] }), 'document_member_jwks_uri', 'must have a key'],
    ['the limit of fetches', failed('too_many_client_documents'), 'too_many_client_documents', '']
  ] as const)('with %s: the client is refused', async (_what, keys, reason, detail) => {
    const { result } = read(documentWith({ jwks_uri: JWKS_URI }), keys)
    expect(await result).toEqual({ kind: 'failed', refusal: { reason, detail: expect.stringContaining(detail) } })
  })
})
