import { objectionToRedirectUri } from '@valetkey/oauth-protocol'

export const MOST_REDIRECT_URIS = 100

export type RedirectUrisOutcome =
  | { kind: 'redirect_uris'; redirectUris: readonly string[] }
  | { kind: 'missing' | 'too_many' }
  | { kind: 'malformed'; uri: string; objection: string }

/** The redirect URIs of a client, each once. */
export function readRedirectUris(given: readonly string[]): RedirectUrisOutcome {
  for (const uri of given) {
    const objection = objectionToRedirectUri(uri)
    if (objection !== undefined) return { kind: 'malformed', uri, objection }
  }
  const redirectUris = [...new Set(given)]
  if (redirectUris.length === 0) return { kind: 'missing' }
  return redirectUris.length > MOST_REDIRECT_URIS ? { kind: 'too_many' } : { kind: 'redirect_uris', redirectUris }
}
