import { createHash } from 'node:crypto'
import type { ConsentQuestion } from './consent-view.js'

/**
 * Identifies what the page asked: the API, the scopes, which of them are required, and what the client says of itself. A scope that
 * is created again gets a greater number than all others. An operator or the developer of the app can change these while the page is open.
 */
export function questionHash({
  request,
  client,
  newestScope
}: Pick<ConsentQuestion, 'request' | 'client' | 'newestScope'>): string {
  const { scope, audience } = request
  const required = scope.filter((name) => client.requiredScopes.includes(name))
  return createHash('sha256')
    .update(JSON.stringify([audience, scope, newestScope, required, client.name, client.redirectUris, client.branding]))
    .digest('base64url')
}
