import type { ClientMetadata } from '@valetkey/oauth-protocol'
import type { ClientDocuments } from '../../platform/client-metadata/find-client-document.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { Scope } from '../../storage/postgres/scopes.js'

export type ClientDiscovery = {
  documents: Pick<ClientDocuments, 'refuse' | 'isListed' | 'find'>
  /** `DISCOVERED_REFRESH_TOKEN_MAX_TTL` */
  refreshTokenMax: number
}

/**
 * The client that a document describes. Any program can use its id, so it is public and its users are asked each time (RFC 8252
 * §8.6). The operator decides which scopes it may request.
 */
export function toDiscoveredClient(
  clientId: string,
  { name, redirectUris }: ClientMetadata,
  catalogue: readonly Scope[],
  { refreshTokenMax }: Pick<ClientDiscovery, 'refreshTokenMax'>
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
    isDiscovered: true,
    disabled: false,
    verified: false,
    branding: {}
  }
}
