import { createHash } from 'node:crypto'
import type { ConsentQuestion } from './consent-view.js'

/**
 * Identifies what the page asked: the API, the scopes, which of them are required, what the client says of itself, the choices of an
 * end, and what the user has chosen at the API. A scope that is created again gets a greater number than all others. An operator or the
 * developer of the app can change these while the page is open.
 */
export function questionHash({
  request,
  client,
  newestScope,
  endValues,
  chosen
}: Pick<ConsentQuestion, 'request' | 'client' | 'newestScope' | 'endValues' | 'chosen'>): string {
  const { scope, audience } = request
  const { name, redirectUris, branding, privateKeyJwt } = client
  const required = scope.filter((name) => client.requiredScopes.includes(name))
  const asked = [audience, scope, newestScope, required, name, redirectUris, branding, privateKeyJwt]
  const withEnds = endValues.length === 0 ? asked : [...asked, endValues]
  const { type, identifier, summary } = chosen?.detail ?? {}
  return createHash('sha256')
    .update(JSON.stringify(identifier === undefined ? withEnds : [...withEnds, { type, identifier, summary }]))
    .digest('base64url')
}
