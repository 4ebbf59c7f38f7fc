/**
 * Returns the path of the metadata of an issuer: between the host and the path without its last slash (RFC 8414 §3.1).
 * @example serverMetadataPath('https://example.com/tenant') // '/.well-known/oauth-authorization-server/tenant'
 */
export function serverMetadataPath(issuer: string): string {
  const { pathname } = new URL(issuer)
  return `/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`
}

/** RFC 8414 §2. `client_secret_basic` is the first method, because some clients use the first one. */
export function serverMetadata(server: {
  issuer: string
  scopes: readonly string[]
  /** Language tags of the pages (BCP 47). */
  languages: readonly string[]
  /** Whether a client id may be the URL of a metadata document. */
  discoversClients?: boolean
  /** Algorithms of `private_key_jwt` (RFC 7523 §2.2); undefined: no client can use it. */
  assertionAlgorithms?: readonly string[] | undefined
}) {
  const { issuer, assertionAlgorithms: algorithms } = server
  const keyMethods = algorithms === undefined ? [] : ['private_key_jwt']
  const methods = ['client_secret_basic', 'client_secret_post', ...keyMethods, 'none']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: server.scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    ...(algorithms && {
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms
    }),
    code_challenge_methods_supported: ['S256'],
    // Without the second one, OpenID Connect Discovery §3 means true.
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    ui_locales_supported: server.languages,
    authorization_response_iss_parameter_supported: true,
    ...(server.discoversClients && { client_id_metadata_document_supported: true })
  }
}
