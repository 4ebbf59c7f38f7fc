import type { ClientKeys } from '@valetkey/oauth-protocol'
import type { FinderOutcome, RefusedClient, Visitor } from '../../browser/pending-requests/client-finder.js'
import { toStoredJwk } from '../../platform/clients/client-keys.js'
import type { KeyAuthentication } from '../../storage/postgres/client-keys.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { Scope, ScopeStore } from '../../storage/postgres/scopes.js'
import type { ClientDocuments, FoundDocument } from './find-client-document.js'

export type ClientDiscovery = {
  documents: Pick<ClientDocuments, 'refuse' | 'isListed' | 'find'>
  /** `DISCOVERED_REFRESH_TOKEN_MAX_TTL` */
  refreshTokenMax: number
}

/**
 * Finds the client whose document is at the URL `clientId`.
 * @param stored the client, if a user has allowed it before
 */
export async function discoverClient(
  clientId: string,
  stored: NewClient | undefined,
  { documents, refreshTokenMax, scopes }: ClientDiscovery & { scopes: Pick<ScopeStore, 'list'> },
  visitor: Visitor
): Promise<FinderOutcome> {
  const refusal = stored?.disabled ? ({ reason: 'client_disabled', detail: '' } as const) : documents.refuse(clientId)
  if (refusal !== undefined) return { kind: 'client_refused', refusal }
  const user = visitor.signedIn ?? (await visitor.verifySession())
  if (user === undefined) return { kind: 'unread', reason: 'unknown_client' }
  const found = await documents.find(clientId, { userId: user.userId, isKnown: stored !== undefined })
  if (found.kind === 'refused') return { kind: 'client_refused', refusal: found.refusal }
  return { kind: 'client', client: toDiscoveredClient(clientId, found, await scopes.list(), refreshTokenMax) }
}

/**
 * A URL with a mistake gets the page that names it.
 * @returns undefined if the id is no URL
 */
export function refuseMalformed(
  clientId: string,
  { documents }: Pick<ClientDiscovery, 'documents'>
): RefusedClient | undefined {
  const refusal = clientId.startsWith('https://') ? documents.refuse(clientId) : undefined
  return refusal && { kind: 'client_refused', refusal }
}

type DocumentWithTime = Extract<FoundDocument, { kind: 'found' }>

/**
 * The client that a document describes. Any program can use its id, so it is public and its users are asked each time (RFC 8252
 * §8.6). The operator decides which scopes it may request.
 */
function toDiscoveredClient(
  clientId: string,
  { metadata: { name, redirectUris, keys, dpopBound }, fetchedAt }: DocumentWithTime,
  catalogue: readonly Scope[],
  refreshTokenMax: number
): NewClient {
  return {
    clientId,
    name,
    type: 'public',
    redirectUris,
    requiredScopes: [],
    optionalScopes: catalogue.filter(({ isDiscoverable }) => isDiscoverable).map((scope) => scope.name),
    requiresPkce: true,
    issuesRefreshTokens: true,
    consent: 'ask',
    lifetimes: { accessToken: undefined, refreshTokenIdle: undefined, refreshTokenMax },
    ...(keys && toKeyAuthentication(keys, new Date(fetchedAt))),
    dpopBound,
    isDiscovered: true,
    disabled: false,
    verified: false,
    branding: {}
  }
}

/** The keys stay valid until they are fetched again: with the document, or for an unknown `kid`. */
function toKeyAuthentication({ privateKeyJwt, jwksUri, algorithm, keys }: ClientKeys, at: Date): KeyAuthentication {
  const stored = keys.map(toStoredJwk)
  return {
    privateKeyJwt,
    jwksUri,
    assertionAlgorithm: algorithm,
    keys: { registered: [], fetched: { keys: stored, at, freshUntil: at } }
  }
}
