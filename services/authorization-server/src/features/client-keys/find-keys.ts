import { OAuthError } from '@valetkey/oauth-protocol'
import { type PublicKey, readPublicKey } from '@valetkey/oauth-protocol/signed'
import type { FetchedKeys, StoredJwk } from '../../storage/postgres/client-keys.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { ClientKeySetStore } from './client-key-set-store.js'
import type { FetchedKeySet } from './fetch-key-set.js'

export type KeyOwner = Pick<ClientRegistration, 'clientId' | 'isDiscovered' | 'jwksUri' | 'keys'>

export type KeyFinderDeps = {
  /** Fetches the keys at a `jwks_uri`; never rejects. */
  fetch: (jwksUri: string) => Promise<FetchedKeySet>
  /** Fetches the keys in a client id metadata document; never rejects. */
  fetchFromDocument: (clientId: string) => Promise<FetchedKeySet>
  sets: Pick<ClientKeySetStore, 'save'>
  /** Is called for each fetch that failed. */
  onFailure: (clientId: string, failure: Extract<FetchedKeySet, { kind: 'failed' }>) => void
  now: () => Date
  /** Milliseconds. */
  monotonicNow?: () => number
}

/** Fetched keys are used this long while their server does not respond. */
const USABLE_MS = 86_400_000
/** After a fetch that failed, or was caused by an unknown `kid`, the keys of a client are not fetched again this long. */
const PAUSE_MS = 30_000
/** Fetches of one process. */
const MOST_AT_ONCE = 16
const RETRY_SOON_SECONDS = 5

/**
 * Finds the keys of clients. Those at a `jwks_uri` are fetched when they are no longer fresh, and for an unknown `kid`. No keys to be
 * had is 503: clients take 401 as final and discard their tokens.
 */
export function createKeyFinder({
  fetch,
  fetchFromDocument,
  sets,
  onFailure,
  now,
  monotonicNow = () => performance.now()
}: KeyFinderDeps) {
  const running = createFetches(fetchKeys)
  const paused = createPauses(monotonicNow)
  /** What this process fetched last: a request may have read the record of its client before it had these keys. */
  const latest = new Map<string, FetchedKeys & { source: string }>()

  function newestOf({ clientId, keys }: KeyOwner, source: string): FetchedKeys | undefined {
    const own = latest.get(clientId)
    const stored = keys?.fetched
    if (own === undefined || own.source !== source) return stored
    return stored === undefined || own.at > stored.at ? own : stored
  }

  async function fetchKeys(clientId: string, source: string): Promise<FetchedKeys | undefined> {
    const jwksUri = source === clientId ? undefined : source
    // Before the fetch: of two fetches that overlap, the one that began later has the newer keys.
    const at = now()
    const fetched = await (jwksUri === undefined ? fetchFromDocument(clientId) : fetch(jwksUri))
    if (fetched.kind === 'failed') {
      onFailure(clientId, fetched)
      paused.begin(clientId)
      return undefined
    }
    const found = { keys: fetched.keys, at, freshUntil: new Date(at.getTime() + fetched.freshSeconds * 1_000) }
    await sets.save({ clientId, jwksUri }, found)
    latest.set(clientId, { ...found, source })
    return found
  }

  async function find(client: KeyOwner, keyId: string | undefined): Promise<readonly PublicKey[]> {
    const { clientId, isDiscovered, keys } = client
    const source = sourceOf(client)
    if (source === undefined) return parsed(keys?.registered ?? [])
    const newest = newestOf(client, source)
    const age = newest && now().getTime() - newest.at.getTime()
    const known = newest !== undefined && (isDiscovered === true || (age ?? 0) < USABLE_MS) ? newest.keys : []
    const hasKey = areUsable(known, keyId)
    // A document's keys are fetched with the document, when a user allows its client.
    const isFresh = newest !== undefined && (isDiscovered === true || newest.freshUntil > now())
    const pauseMs = paused.rest(clientId)
    if (hasKey && (isFresh || pauseMs > 0)) return parsed(known)
    const shared = running.find(clientId, source)
    if (shared === undefined && pauseMs > 0) throw unavailable(Math.ceil(pauseMs / 1_000))
    if (shared === undefined && !hasKey && known.length > 0) paused.begin(clientId)
    const fetched = await (shared ?? running.begin(clientId, source))
    // The shared fetch may have begun before the client published the key. The pause ends the repetition.
    if (shared !== undefined && fetched !== undefined && !areUsable(fetched.keys, keyId)) return find(client, keyId)
    if (fetched !== undefined) return parsed(fetched.keys)
    if (hasKey) return parsed(known)
    throw unavailable(RETRY_SOON_SECONDS)
  }

  return {
    /**
     * @param keyId `kid` of the assertion, of which everything but the signature has been checked
     * @throws {OAuthError} `temporarily_unavailable`
     */
    find
  }
}

/** Whether the key that an assertion names is there, or without `kid` any. */
function areUsable(keys: readonly StoredJwk[], keyId: string | undefined): boolean {
  return keyId === undefined ? keys.length > 0 : keys.some(({ kid }) => kid === keyId)
}

/** The URL that has the keys of a client: its `jwks_uri`, or its document. Undefined: they are registered. */
function sourceOf({ clientId, isDiscovered, jwksUri }: KeyOwner): string | undefined {
  return jwksUri ?? (isDiscovered === true ? clientId : undefined)
}

export type KeyFinder = ReturnType<typeof createKeyFinder>

type FetchKeys = (clientId: string, source: string) => Promise<FetchedKeys | undefined>

/** Parallel requests for the keys of a client share one fetch. */
function createFetches(fetchKeys: FetchKeys) {
  const running = new Map<string, ReturnType<FetchKeys>>()
  const placeOf = (clientId: string, source: string) => `${clientId} ${source}`
  return {
    find: (clientId: string, source: string) => running.get(placeOf(clientId, source)),

    /** @returns undefined if there are too many fetches for other clients */
    begin(clientId: string, source: string): ReturnType<FetchKeys> {
      if (running.size >= MOST_AT_ONCE) return Promise.resolve(undefined)
      const place = placeOf(clientId, source)
      const fetching = fetchKeys(clientId, source).finally(() => running.delete(place))
      running.set(place, fetching)
      return fetching
    }
  }
}

function createPauses(monotonicNow: () => number) {
  // In the order of their ends, because all are equally long.
  const ends = new Map<string, number>()
  return {
    begin(clientId: string): void {
      for (const [ended, end] of ends) {
        if (end > monotonicNow()) break
        ends.delete(ended)
      }
      ends.delete(clientId)
      ends.set(clientId, monotonicNow() + PAUSE_MS)
    },
    /** @returns milliseconds; 0 if there is no pause */
    rest: (clientId: string): number => Math.max(0, (ends.get(clientId) ?? 0) - monotonicNow())
  }
}

/** Parsed keys, as long as the cache has the record of the client: jose imports each key object once. */
const PARSED = new WeakMap<readonly StoredJwk[], readonly PublicKey[]>()

function parsed(keys: readonly StoredJwk[]): readonly PublicKey[] {
  const known = PARSED.get(keys)
  if (known !== undefined) return known
  const read = keys.flatMap((jwk) => {
    const found = readPublicKey(jwk)
    return found.kind === 'key' ? [found.key] : []
  })
  PARSED.set(keys, read)
  return read
}

function unavailable(retryAfterSeconds: number): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The keys of the client are not available. Try again in a moment.', {
    isElsewhere: true,
    retryAfterSeconds,
    cause: new Error('the keys at the jwks_uri of the client are not available')
  })
}
