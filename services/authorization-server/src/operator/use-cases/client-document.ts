import type { ClientOrigin, ClientRegistration, NewClient } from '../../storage/postgres/clients.js'

/**
 * A client for operators, on the command line and over HTTP. Without a lifetime, the server's value applies. The scopes of a
 * discovered client are those of the catalogue that are marked.
 */
export function clientDocument(client: ClientRegistration) {
  return { ...newClientDocument(client), created_at: client.createdAt.toISOString() }
}

/** A client before Postgres has set created_at. */
export function newClientDocument(client: NewClient) {
  const { lifetimes, branding } = client
  return {
    client_id: client.clientId,
    name: client.name,
    type: client.type,
    redirect_uris: client.redirectUris,
    scope: client.requiredScopes.join(' '),
    optional_scope: client.optionalScopes.join(' '),
    resources: client.audiences ?? [],
    refresh: client.issuesRefreshTokens,
    require_pkce: client.requiresPkce,
    consent: client.consent,
    verified: client.verified,
    ...(branding.homePage && { home_page: branding.homePage }),
    ...(branding.publisher && { publisher: branding.publisher }),
    ...(branding.privacyPolicy && { privacy_policy: branding.privacyPolicy }),
    ...(branding.terms && { terms: branding.terms }),
    ...(branding.logo && { logo: branding.logo }),
    ...(lifetimes?.accessToken && { access_token_ttl: lifetimes.accessToken }),
    ...(lifetimes?.refreshTokenIdle && { refresh_token_idle_ttl: lifetimes.refreshTokenIdle }),
    ...(lifetimes?.refreshTokenMax && { refresh_token_max_ttl: lifetimes.refreshTokenMax }),
    origin: originOf(client),
    disabled: client.disabled
  }
}

function originOf({ isDiscovered, isOfDeveloper }: NewClient): ClientOrigin {
  if (isDiscovered === true) return 'discovered'
  return isOfDeveloper === true ? 'developer' : 'registered'
}
