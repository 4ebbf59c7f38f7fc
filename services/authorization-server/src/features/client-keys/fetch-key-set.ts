import { readClientMetadata } from '@valetkey/oauth-protocol'
import { readPublishedKeys, toStoredJwk } from '../../platform/clients/client-keys.js'
import { type FetchDeps, fetchDocument } from '../../platform/fetch/fetch-document.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'

/** @property freshSeconds how long the keys are used without another fetch */
export type FetchedKeySet =
  | { kind: 'fetched'; keys: readonly StoredJwk[]; freshSeconds: number }
  | { kind: 'failed'; reason: string; detail: string }

/** How hosts of clients are found and trusted. */
export type ReachHosts = Pick<FetchDeps, 'resolve' | 'ca'>

export type KeySetFetchDeps = ReachHosts & Pick<FetchDeps, 'allowsLoopback'>

const MAX_BYTES = { keys: 64 * 1024, document: 5 * 1024 }
const FETCH_LIMIT_MS = 5_000
const FRESH_SECONDS = { shortest: 60, default: 300, longest: 3_600 }

/**
 * Fetches the keys at a `jwks_uri` (RFC 7591 §2), by the rules of client id metadata documents: https, checked public addresses, no
 * redirect, 5 s; up to 64 KiB and 20 keys. Any host may be named there.
 */
export async function fetchKeySet(jwksUri: string, reach: KeySetFetchDeps): Promise<FetchedKeySet> {
  const signal = AbortSignal.timeout(FETCH_LIMIT_MS)
  const fetched = await fetchDocument(jwksUri, { ...reach, maxBytes: MAX_BYTES.keys, signal })
  if (fetched.kind === 'failed') return { kind: 'failed', ...fetched.refusal }
  const read = readPublishedKeys(parse(fetched.text))
  if (read.kind === 'refused') return { kind: 'failed', reason: 'key_set_not_usable', detail: read.objection }
  return { kind: 'fetched', keys: read.keys.map(toStoredJwk), freshSeconds: freshSeconds(fetched.cacheControl) }
}

/** Fetches the keys in a client id metadata document. A document that has none any more does not change those that are stored. */
export async function fetchKeysOfDocument(clientId: string, reach: KeySetFetchDeps): Promise<FetchedKeySet> {
  const signal = AbortSignal.timeout(FETCH_LIMIT_MS)
  const fetched = await fetchDocument(clientId, { ...reach, maxBytes: MAX_BYTES.document, signal })
  if (fetched.kind === 'failed') return { kind: 'failed', ...fetched.refusal }
  const read = readClientMetadata(fetched.text, clientId)
  const keys = read.kind === 'valid' && read.metadata.keys?.jwksUri === undefined ? read.metadata.keys?.keys : undefined
  if (keys === undefined) return { kind: 'failed', reason: 'document_without_keys', detail: '' }
  const stored = keys.map(toStoredJwk)
  return { kind: 'fetched', keys: stored, freshSeconds: FRESH_SECONDS.default }
}

/** Seconds from `Cache-Control`, within 1 and 60 minutes. */
export function freshSeconds(cacheControl: string | undefined): number {
  const directives = (cacheControl ?? '').toLowerCase()
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(directives)) return FRESH_SECONDS.shortest
  const age = /(?:^|[\s,])max-age="?([0-9]{1,10})/.exec(directives)?.[1]
  if (age === undefined) return FRESH_SECONDS.default
  return Math.min(FRESH_SECONDS.longest, Math.max(FRESH_SECONDS.shortest, Number(age)))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
