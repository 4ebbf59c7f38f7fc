import { type ClientMetadata, readClientMetadata, type SkippedEntry } from '@valetkey/oauth-protocol'
import { isUsableKey, type PublicKey, readKeySet } from '@valetkey/oauth-protocol/signed'
import type { ClientRefusal } from '../../platform/clients/document-refusal.js'
import type { FetchedDocument } from '../../platform/fetch/fetch-document.js'

export type ReadDocument =
  | {
      kind: 'read'
      metadata: ClientMetadata
      skipped: readonly SkippedEntry[]
      cacheControl: string | undefined
    }
  | { kind: 'failed'; refusal: ClientRefusal }

/** Fetches a document, and the keys at its `jwks_uri`, which may be on another host. */
export type DocumentFetches = {
  document: (url: string) => Promise<FetchedDocument>
  keys: (jwksUri: string) => Promise<FetchedDocument>
}

/** Fetches and reads the document of a client with the keys that it names. A client without a usable key is refused. */
export async function readClientDocument(clientId: string, fetch: DocumentFetches): Promise<ReadDocument> {
  const fetched = await fetch.document(clientId)
  if (fetched.kind === 'failed') return fetched
  const { cacheControl } = fetched
  const read = readClientMetadata(fetched.text, clientId)
  if (read.kind === 'invalid') {
    const reason = read.member === 'document' ? 'document_not_json' : (`document_member_${read.member}` as const)
    return { kind: 'failed', refusal: { reason, detail: read.problem } }
  }
  const { metadata, skipped } = read
  if (metadata.keys === undefined) return { kind: 'read', metadata, skipped, cacheControl }
  const { jwksUri } = metadata.keys
  const found = jwksUri === undefined ? { keys: metadata.keys.keys, skipped: [] } : await fetchKeys(jwksUri, fetch)
  if ('refusal' in found) return { kind: 'failed', refusal: found.refusal }
  const { usable, unusable } = await divide(found.keys)
  const member = jwksUri === undefined ? 'jwks' : 'jwks_uri'
  if (usable.length === 0)
    return { kind: 'failed', refusal: refusalOfKeys(member, 'has no key that can be used: no point is on its curve') }
  return {
    kind: 'read',
    metadata: { ...metadata, keys: { ...metadata.keys, keys: usable } },
    skipped: [...skipped, ...found.skipped, ...unusable.map(({ thumbprint }) => offCurve(member, thumbprint))],
    cacheControl
  }
}

type FoundKeys = { keys: readonly PublicKey[]; skipped: readonly SkippedEntry[] } | { refusal: ClientRefusal }

async function fetchKeys(jwksUri: string, fetch: DocumentFetches): Promise<FoundKeys> {
  const fetched = await fetch.keys(jwksUri)
  if (fetched.kind === 'failed') return { refusal: ofKeys(fetched.refusal) }
  const read = readKeySet(parse(fetched.text))
  if (read.kind === 'refused') return { refusal: refusalOfKeys('jwks_uri', read.objection) }
  const skipped = read.skipped.map(({ place, reason }) => ({ place: `jwks_uri.${place}`, reason }))
  return { keys: read.keys, skipped }
}

/** Says that the keys are what could not be fetched, not the document. */
function ofKeys(refusal: ClientRefusal): ClientRefusal {
  switch (refusal.reason) {
    case 'document_unresolved':
    case 'document_timeout':
    case 'document_connection_failed':
    case 'document_server_error':
      return { reason: 'document_keys_unreachable', detail: refusal.detail }
    case 'document_address_refused':
      return { reason: 'document_keys_address_refused', detail: '' }
    case 'too_many_client_documents':
      return refusal
    default:
      return { reason: 'document_member_jwks_uri', detail: `jwks_uri: ${refusal.detail}` }
  }
}

function refusalOfKeys(member: 'jwks' | 'jwks_uri', objection: string): ClientRefusal {
  return { reason: `document_member_${member}`, detail: `${member} ${objection}.` }
}

async function divide(keys: readonly PublicKey[]): Promise<{ usable: PublicKey[]; unusable: PublicKey[] }> {
  const areUsable = await Promise.all(keys.map(isUsableKey))
  return { usable: keys.filter((_, index) => areUsable[index]), unusable: keys.filter((_, index) => !areUsable[index]) }
}

function offCurve(member: string, thumbprint: string): SkippedEntry {
  return { place: `${member}.keys[${thumbprint}]`, reason: 'must be a point on its curve' }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
