import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { FetchedKeySet } from '../../../src/features/client-keys/fetch-key-set.js'
import { createKeyFinder, type KeyFinder, type KeyOwner } from '../../../src/features/client-keys/find-keys.js'
import type { FetchedKeys, StoredJwk } from '../../../src/storage/postgres/client-keys.js'
import { createSigningKey, withKeys } from './support/assertions.js'

const URI = 'https://app.example/jwks.json'
const SECOND = 1_000
const HOUR = 3_600 * SECOND

let one: StoredJwk
let two: StoredJwk
let now: number
let fetches: number
let documents: string[]
let answer: () => Promise<FetchedKeySet>
let saved: FetchedKeys[]
let finder: KeyFinder

beforeAll(async () => {
  const [first, second] = await Promise.all([createSigningKey('ES256', 'one'), createSigningKey('ES256', 'two')])
  const registered = withKeys(first, second).keys?.registered ?? []
  ;[one, two] = registered as [StoredJwk, StoredJwk]
})
beforeEach(() => {
  now = 1_800_000_000_000
  fetches = 0
  documents = []
  saved = []
  answer = async () => published(one)
  finder = createKeyFinder({
    fetch: () => {
      fetches += 1
      return answer()
    },
    fetchFromDocument: (clientId) => {
      documents.push(clientId)
      return answer()
    },
    sets: { save: async (_client, set) => void saved.push(set) },
    onFailure: () => {},
    now: () => new Date(now),
    monotonicNow: () => now
  })
})

const published = (...keys: StoredJwk[]): FetchedKeySet => ({ kind: 'fetched', keys, freshSeconds: 300 })
const FAILED: FetchedKeySet = { kind: 'failed', reason: 'document_timeout', detail: '' }

/** Makes fetches wait. @returns a function that ends the wait */
function holdAnswer(): () => void {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  answer = () => held.then(() => published(one))
  return () => release()
}

/** A client whose keys were fetched this long ago. */
const owner = (keys: readonly StoredJwk[] | undefined, ageMs = 0, change: Partial<KeyOwner> = {}): KeyOwner => {
  const at = new Date(now - ageMs)
  const fetched = keys && { keys, at, freshUntil: new Date(at.getTime() + 300 * SECOND) }
  return { clientId: 'client-1', jwksUri: URI, keys: { registered: [], fetched }, ...change }
}

const kidsOf = async (client: KeyOwner, keyId?: string) => (await finder.find(client, keyId)).map(({ kid }) => kid)

const refusedWith = (retryAfterSeconds: number) => ({
  code: 'temporarily_unavailable',
  details: { retryAfterSeconds }
})

describe('the keys of a client', () => {
  test('are those that are registered, without a fetch', async () => {
    const client = { clientId: 'c', keys: { registered: [one, two], fetched: undefined } }
    expect(await kidsOf(client, 'three')).toEqual(['one', 'two'])
    expect(fetches).toBe(0)
  })

  test('are parsed once for each cached record', async () => {
    const client = owner([one])
    expect((await finder.find(client, 'one'))[0]).toBe((await finder.find(client, 'one'))[0])
  })

  test('are fetched and stored before their first use', async () => {
    expect(await kidsOf(owner(undefined), 'one')).toEqual(['one'])
    expect(saved).toEqual([{ keys: [one], at: new Date(now), freshUntil: new Date(now + 300 * SECOND) }])
  })

  test('are used without a fetch while they are fresh', async () => {
    expect(await kidsOf(owner([one], 299 * SECOND), 'one')).toEqual(['one'])
    expect(fetches).toBe(0)
  })

  test('are fetched again when they are not fresh any more', async () => {
    answer = async () => published(two)
    expect(await kidsOf(owner([one], 300 * SECOND), 'one')).toEqual(['two'])
    expect(fetches).toBe(1)
  })

  test('are used for up to 24 hours while their server fails, with one fetch in 30 s', async () => {
    answer = async () => FAILED
    const client = owner([one], 23 * HOUR)
    expect(await kidsOf(client, 'one')).toEqual(['one'])
    expect(await kidsOf(client, 'one')).toEqual(['one'])
    expect(fetches).toBe(1)
    now += 30 * SECOND
    expect(await kidsOf(client, 'one')).toEqual(['one'])
    expect(fetches).toBe(2)
    now += HOUR
    await expect(kidsOf(client, 'one')).rejects.toMatchObject(refusedWith(5))
  })

  test('are not fetched again for a client with a document while its kid is known', async () => {
    expect(await kidsOf(owner([one], 100 * HOUR, { isDiscovered: true }), 'one')).toEqual(['one'])
    expect(fetches).toBe(0)
  })
})

describe('an unknown kid', () => {
  test('causes one fetch in 30 s for each client; meanwhile it is 503', async () => {
    const client = owner([one])
    expect(await kidsOf(client, 'two')).toEqual(['one'])
    await expect(kidsOf(client, 'two')).rejects.toMatchObject(refusedWith(30))
    expect(fetches).toBe(1)
    expect(await kidsOf(owner([one], 0, { clientId: 'client-2' }), 'two')).toEqual(['one'])
    expect(fetches).toBe(2)
    now += 30 * SECOND
    await kidsOf(client, 'two')
    expect(fetches).toBe(3)
  })

  test('does not stop requests with a known one', async () => {
    const client = owner([one])
    await kidsOf(client, 'two')
    expect(await kidsOf(client, 'one')).toEqual(['one'])
  })

  test('of a rotation is found, also before the record with the new keys arrives', async () => {
    const client = owner([one], SECOND)
    answer = async () => published(one, two)
    expect(await kidsOf(client, 'two')).toEqual(['one', 'two'])
    expect(await kidsOf(client, 'two')).toEqual(['one', 'two'])
    expect(fetches).toBe(1)
  })

  test('of a rotation is found by a request that read the record before others did', async () => {
    const early = owner([one], SECOND)
    answer = async () => published(one, two)
    await kidsOf(early, 'two')
    expect(await kidsOf(owner([one, two]), 'two')).toEqual(['one', 'two'])
    expect(await kidsOf(early, 'two')).toEqual(['one', 'two'])
    expect(fetches).toBe(1)
  })

  test('that a running fetch does not find is looked for in another one', async () => {
    const release = holdAnswer()
    const earlier = kidsOf(owner(undefined), 'one')
    const rotated = kidsOf(owner(undefined), 'two')
    answer = async () => published(one, two)
    release()
    expect(await earlier).toEqual(['one'])
    expect(await rotated).toEqual(['one', 'two'])
    expect(fetches).toBe(2)
  })

  test('that is nowhere causes one more fetch for all that waited for the first', async () => {
    const release = holdAnswer()
    const waiting = Array.from({ length: 20 }, () => kidsOf(owner(undefined), 'two'))
    release()
    const results = await Promise.allSettled(waiting)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(refusals).toHaveLength(18)
    for (const refusal of refusals) expect(refusal).toMatchObject(refusedWith(30))
    expect(fetches).toBe(2)
  })

  test('is 503 and no refusal while the server of the client fails', async () => {
    answer = async () => FAILED
    await expect(kidsOf(owner([one]), 'two')).rejects.toMatchObject(refusedWith(5))
  })
})

test('fetched keys have the time at which their fetch began', async () => {
  const release = holdAnswer()
  const began = new Date(now)
  const found = kidsOf(owner(undefined), 'one')
  now += 5 * SECOND
  release()
  await found
  expect(saved).toMatchObject([{ at: began }])
})

describe('the keys in a client id metadata document', () => {
  const CLIENT_ID = 'https://app.example/client.json'
  const discovered = (ageMs = 0) => owner([one], ageMs, { clientId: CLIENT_ID, jwksUri: undefined, isDiscovered: true })

  test('are used without a fetch while their kid is known', async () => {
    expect(await kidsOf(discovered(100 * HOUR), 'one')).toEqual(['one'])
    expect(await kidsOf(discovered(100 * HOUR))).toEqual(['one'])
    expect(documents).toEqual([])
  })

  test('are read from the document again for an unknown kid', async () => {
    answer = async () => published(two)
    expect(await kidsOf(discovered(SECOND), 'two')).toEqual(['two'])
    expect([documents, fetches]).toEqual([[CLIENT_ID], 0])
  })
})

describe('parallel fetches', () => {
  test('for one client are one', async () => {
    const clients = Array.from({ length: 50 }, () => kidsOf(owner(undefined), 'one'))
    expect(await Promise.all(clients)).toEqual(clients.map(() => ['one']))
    expect(fetches).toBe(1)
  })

  test('are 16 at most; another client gets 503 and no pause', async () => {
    const release = holdAnswer()
    const of = (index: number) => owner(undefined, 0, { clientId: `client-${index}` })
    const running = Array.from({ length: 16 }, (_, index) => kidsOf(of(index), 'one'))
    await expect(kidsOf(of(16), 'one')).rejects.toMatchObject(refusedWith(5))
    release()
    await Promise.all(running)
    expect(await kidsOf(of(16), 'one')).toEqual(['one'])
  })
})

test('the keys of a client that has another jwks_uri now are not used', async () => {
  await kidsOf(owner(undefined), 'one')
  answer = async () => published(two)
  expect(await kidsOf(owner(undefined, 0, { jwksUri: `${URI}/new` }), 'two')).toEqual(['two'])
  expect(fetches).toBe(2)
})
