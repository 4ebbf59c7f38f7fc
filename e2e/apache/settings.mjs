// The configuration that docs/apache.md shows.
export function verifyAt(introspectionUrl, { clientId, clientSecret }, options = '') {
  const credential = `client_id=${clientId}&client_secret=${clientSecret}`
  return [
    'AuthType oauth2',
    `OAuth2TokenVerify introspect ${introspectionUrl} introspect.auth=client_secret_basic&${credential}${options}`
  ].join('\n')
}

/** mod_oauth2 compares the whole text of `scope`, so a rewrite rule checks for one scope among several. */
export function requireScope(audience, scope) {
  return [
    `Require oauth2_claim aud:${audience}`,
    'RewriteEngine On',
    `RewriteCond %{ENV:OAUTH2_CLAIM_scope} "!(^| )${scope.replaceAll('.', '\\.')}( |$)"`,
    'RewriteRule ^ - [F]'
  ].join('\n')
}
