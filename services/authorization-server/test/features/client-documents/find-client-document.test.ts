import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'
import { StoreUnavailable } from '@valetkey/service-kit'
import { createClientDocumentStore } from '../../../src/features/client-documents/client-document-store.js'
import type { ClientIdPolicy } from '../../../src/features/client-documents/client-id-policy.js'
import { createFetchLimits, type FetchRates } from '../../../src/features/client-documents/fetch-limits.js'
import { createClientDocuments } from '../../../src/features/client-documents/find-client-document.js'
import type { RefusalReason } from '../../../src/platform/clients/document-refusal.js'
import type { FetchedDocument } from '../../../src/platform/fetch/fetch-document.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'

const { records: RECORDS } = newRecordAuthentication()
const CLIENT_ID = 'https://app.example/client.json'
const OPEN: ClientIdPolicy = { mode: 'open', allow: [], deny: [], allowsLoopback: false }
const RATES: FetchRates = {
  perMinute: 120,
  perOriginPerMinute: 30,
  perUserPerMinute: 20,
  atOnce: 16,
  perOriginAtOnce: 4,
  perUserAtOnce: 4
}
const HOUR = 3_600_000

let redis: TestRedis

beforeAll(() => {
  redis = createTestRedis()
})
beforeEach(() => redis.client.flushdb())
afterAll(() => redis.close())

function documentOf(clientId: string, name = 'Paper Boat'): FetchedDocument {
  const text = JSON.stringify({ client_id: clientId, client_name: name, redirect_uris: ['https://app.example/cb'] })
  return { kind: 'fetched', text, cacheControl: undefined }
}

const failed = (reason: RefusalReason): FetchedDocument => ({ kind: 'failed', refusal: { reason, detail: '' } })

/** @param answers responses of the server, one for each fetch; the last one repeats */
function start(answers: readonly FetchedDocument[], policy = OPEN, rates = RATES) {
  const fetched: string[] = []
  const outcomes: string[] = []
  const skipped: object[] = []
  let first = () => {}
  const clock = { now: new Date('2026-11-22T12:00:00Z') }
  async function answer(url: string) {
    fetched.push(url)
    if (fetched.length === 1) first()
    return answers[Math.min(fetched.length, answers.length) - 1] as FetchedDocument
  }
  const { find, ...others } = createClientDocuments({
    policy,
    documents: createClientDocumentStore<RefusalReason>(redis.client, RECORDS),
    limits: createFetchLimits(rates, () => clock.now.getTime()),
    fetch: { document: answer, keys: answer },
    onFetch: (outcome) => outcomes.push(outcome),
    onSkipped: (clientId, entry) => skipped.push({ clientId, ...entry }),
    now: () => clock.now
  })
  const pass = (milliseconds: number) => {
    clock.now = new Date(clock.now.getTime() + milliseconds)
  }
  /** Ends the pause as its lifetime in Redis does, which follows the clock of Redis. */
  const endPause = async () => redis.client.del(...(await redis.client.keys('vk:client-document-failure:*')))
  const onFirstFetch = (act: () => void) => {
    first = act
  }
  const documents = {
    ...others,
    find: (clientId: string, userId: string, isKnown = false) => find(clientId, { userId, isKnown })
  }
  return { documents, fetched, outcomes, skipped, pass, endPause, onFirstFetch }
}

const FOUND = {
  kind: 'found',
  metadata: { name: 'Paper Boat', redirectUris: ['https://app.example/cb'] },
  fetchedAt: expect.any(Number)
}
const refused = (reason: RefusalReason) => ({ kind: 'refused', refusal: expect.objectContaining({ reason }) })

describe('cache (draft-ietf-oauth-client-id-metadata-document-02 §5.2)', () => {
  test('a document is fetched again after an hour, and not before', async () => {
    const { documents, fetched, pass } = start([documentOf(CLIENT_ID)])
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
    pass(HOUR - 1)
    expect(await documents.find(CLIENT_ID, 'bob')).toEqual(FOUND)
    expect(fetched).toHaveLength(1)
    pass(1)
    expect(await documents.find(CLIENT_ID, 'bob')).toEqual(FOUND)
    expect(fetched).toHaveLength(2)
  })

  test('parallel requests share one fetch', async () => {
    const { documents, fetched } = start([documentOf(CLIENT_ID)])
    const all = await Promise.all(Array.from({ length: 50 }, (_, index) => documents.find(CLIENT_ID, `user ${index}`)))
    expect(all).toEqual(all.map(() => FOUND))
    expect(fetched).toHaveLength(1)
  })

  test('ids that differ in one character have their own documents', async () => {
    const { documents, fetched } = start([documentOf(CLIENT_ID)])
    await documents.find(CLIENT_ID, 'alice')
    expect(await documents.find(`${CLIENT_ID}/`, 'alice')).toEqual(refused('document_member_client_id'))
    expect(fetched).toEqual([CLIENT_ID, `${CLIENT_ID}/`])
  })

  test('a record that was written to Redis without our keys is not used', async () => {
    const { documents, fetched } = start([documentOf(CLIENT_ID)])
    await documents.find(CLIENT_ID, 'alice')
    const [key = ''] = await redis.client.keys('vk:client-document:*')
    const forged = (await redis.client.get(key))?.replace('app.example', 'evil.example')
    await redis.client.set(key, String(forged))
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
    expect(fetched).toHaveLength(2)
  })
})

describe('failures', () => {
  test.each([
    'document_timeout',
    'document_server_error',
    'document_unresolved',
    'document_connection_failed'
  ] as const)('%s: a copy is used for up to 24 hours', async (reason) => {
    const { documents, pass, endPause } = start([documentOf(CLIENT_ID), failed(reason)])
    await documents.find(CLIENT_ID, 'alice')
    pass(24 * HOUR - 1)
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
    pass(1)
    await endPause()
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused(reason))
  })

  test.each([
    ['404', failed('document_missing'), 'document_missing'],
    ['a redirect', failed('document_redirect'), 'document_redirect'],
    ['an internal address', failed('document_address_refused'), 'document_address_refused'],
    ['an invalid document', documentOf('https://other.example/client.json'), 'document_member_client_id']
  ] as const)('%s withdraws the client: the copy is deleted', async (_what, answer, reason) => {
    const { documents, pass, endPause } = start([documentOf(CLIENT_ID), answer, failed('document_timeout')])
    await documents.find(CLIENT_ID, 'alice')
    pass(HOUR)
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused(reason))
    await endPause()
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused('document_timeout'))
  })

  test('after a failure there is a pause: the same refusal without a fetch', async () => {
    const { documents, fetched, endPause } = start([failed('document_timeout'), documentOf(CLIENT_ID)])
    await documents.find(CLIENT_ID, 'alice')
    expect(await documents.find(CLIENT_ID, 'bob')).toEqual(refused('document_timeout'))
    expect(fetched).toHaveLength(1)
    const [key = ''] = await redis.client.keys('vk:client-document-failure:*')
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(60_000)
    await endPause()
    expect(await documents.find(CLIENT_ID, 'bob')).toEqual(FOUND)
  })

  test('the detail of an invalid document is kept for the page', async () => {
    const { documents } = start([documentOf('https://other.example/client.json')])
    const detail = 'client_id must be the URL of the document.'
    for (const user of ['alice', 'bob']) {
      expect(await documents.find(CLIENT_ID, user)).toMatchObject({ refusal: { detail } })
    }
  })

  test('Redis fails during a fetch: an outage, and the next request fetches again', async () => {
    const { documents, fetched, onFirstFetch } = start([documentOf(CLIENT_ID)])
    onFirstFetch(() => redis.client.disconnect())
    await expect(documents.find(CLIENT_ID, 'alice')).rejects.toBeInstanceOf(StoreUnavailable)
    await redis.client.connect()
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
    expect(fetched).toHaveLength(2)
  })

  test('a fetch that throws is not shared with later requests', async () => {
    const { documents } = start([])
    await expect(documents.find(CLIENT_ID, 'alice')).rejects.toThrow()
    await expect(documents.find(CLIENT_ID, 'alice')).rejects.toThrow()
  })
})

describe('limits', () => {
  test('one user cannot use up the fetches of others', async () => {
    const { documents, fetched, outcomes, pass } = start([failed('document_missing')])
    for (let index = 0; index < 21; index++) await documents.find(`https://h${index}.example/c`, 'mallory')
    expect(fetched).toHaveLength(20)
    expect(outcomes.at(-1)).toBe('too_many_client_documents')
    expect(await documents.find('https://last.example/c', 'mallory')).toEqual({
      kind: 'refused',
      refusal: { reason: 'too_many_client_documents', detail: '', retryAfterSeconds: 60 }
    })
    expect(await documents.find('https://other.example/c', 'alice')).toEqual(refused('document_missing'))
    pass(60_000)
    expect(await documents.find('https://last.example/c', 'mallory')).toEqual(refused('document_missing'))
  })

  test('a limit refuses fetches, not documents in the cache', async () => {
    const { documents } = start([documentOf(CLIENT_ID)], OPEN, { ...RATES, perMinute: 1 })
    await documents.find(CLIENT_ID, 'alice')
    expect(await documents.find('https://other.example/c', 'alice')).toEqual(refused('too_many_client_documents'))
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
  })

  test('other users use up the fetches of an origin: a known client of it is served from its copy for up to 24 hours', async () => {
    const { documents, fetched, pass } = start([documentOf(CLIENT_ID)], OPEN, { ...RATES, perOriginPerMinute: 1 })
    await documents.find(CLIENT_ID, 'alice')
    pass(HOUR)
    await documents.find(`${CLIENT_ID}/made-up`, 'mallory')
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
    expect(fetched).toHaveLength(2)
    pass(23 * HOUR)
    await documents.find(`${CLIENT_ID}/made-up-again`, 'mallory')
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused('too_many_client_documents'))
    expect(await documents.find(CLIENT_ID, 'alice', true)).toEqual(FOUND)
  })

  test('Redis keeps at most 2,000 documents and 2,000 failures', async () => {
    const store = createClientDocumentStore<RefusalReason>(redis.client, RECORDS)
    const metadata = { name: 'x', redirectUris: ['https://app.example/cb'] }
    for (let index = 0; index < 2_010; index++) {
      await store.save(`https://h${index}.example/c`, { metadata, fetchedAt: 1, freshUntil: 2 }, HOUR)
    }
    expect(await redis.client.keys('vk:client-document:*')).toHaveLength(2_000)
    expect((await store.find('https://h9.example/c')).document).toBeUndefined()
    expect((await store.find('https://h10.example/c')).document).toBeDefined()
  })
})

describe('policy', () => {
  test.each([
    ['an id that is not allowed', { ...OPEN, mode: 'listed' } as const, CLIENT_ID, 'client_id_not_allowed'],
    [
      'a denied host',
      { ...OPEN, deny: [{ kind: 'host', host: 'app.example' }] } as const,
      CLIENT_ID,
      'client_id_not_allowed'
    ],
    ['an address', OPEN, 'https://10.0.0.1/client', 'client_id_malformed'],
    ['the loopback interface', OPEN, 'https://localhost/client', 'client_id_malformed']
  ] as const)('%s is refused without a fetch', (_what, policy, clientId, reason) => {
    expect(start([], policy).documents.refuse(clientId)).toMatchObject({ reason })
  })

  test('all other URLs are fetched', () => {
    expect(start([]).documents.refuse(CLIENT_ID)).toBeUndefined()
  })
})

test('an entry that cannot be used is reported once for each fetch, and the others are found', async () => {
  const text = JSON.stringify({
    client_id: CLIENT_ID,
    client_name: 'Paper Boat',
    redirect_uris: ['cursor://app/cb', 'https://app.example/cb']
  })
  const { documents, skipped } = start([{ kind: 'fetched', text, cacheControl: undefined }])
  expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
  expect(await documents.find(CLIENT_ID, 'alice')).toEqual(FOUND)
  expect(skipped).toEqual([
    { clientId: CLIENT_ID, place: 'redirect_uris[0]', reason: expect.stringMatching(/^must be https/) }
  ])
})

describe('the keys at the jwks_uri of a document', () => {
  const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const keys: FetchedDocument = { kind: 'fetched', text: JSON.stringify({ keys: [key] }), cacheControl: undefined }
  const withKeys = (jwksUri: string): FetchedDocument => {
    const described = { client_id: CLIENT_ID, client_name: 'Paper Boat', redirect_uris: ['https://app.example/cb'] }
    const methods = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }
    return { kind: 'fetched', text: JSON.stringify({ ...described, ...methods }), cacheControl: undefined }
  }

  test('are cached with the document', async () => {
    const { documents, fetched } = start([withKeys('https://keys.example/a'), keys])
    const found = await documents.find(CLIENT_ID, 'alice')
    expect(found).toMatchObject({ kind: 'found', metadata: { keys: { privateKeyJwt: 'required', keys: [{}] } } })
    expect(JSON.stringify(await documents.find(CLIENT_ID, 'bob'))).toBe(JSON.stringify(found))
    expect(fetched).toEqual([CLIENT_ID, 'https://keys.example/a'])
  })

  test('of a host that does not respond: the copy of the document with its keys is used', async () => {
    const document = withKeys('https://keys.example/a')
    const { documents, pass } = start([document, keys, document, failed('document_timeout')])
    const found = await documents.find(CLIENT_ID, 'alice')
    pass(HOUR)
    expect(JSON.stringify(await documents.find(CLIENT_ID, 'alice'))).toBe(JSON.stringify(found))
    pass(24 * HOUR)
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused('document_keys_unreachable'))
  })

  test('count in the limits of their origin; a refused fetch stores no failure', async () => {
    const rates = { ...RATES, perOriginPerMinute: 1 }
    const { documents, fetched, pass } = start(
      [withKeys('https://app.example/keys'), withKeys('https://keys.example/a'), keys],
      OPEN,
      rates
    )
    expect(await documents.find(CLIENT_ID, 'alice')).toEqual(refused('too_many_client_documents'))
    expect(fetched).toEqual([CLIENT_ID])
    pass(60_000)
    expect((await documents.find(CLIENT_ID, 'alice')).kind).toBe('found')
  })
})
