import { type RedirectUriProblem, redirectUriProblem } from '@valetkey/oauth-protocol'

export const MOST_REDIRECT_URIS = 100

export type RedirectUrisOutcome =
  | { kind: 'redirect_uris'; redirectUris: readonly string[] }
  | { kind: 'missing' | 'too_many' }
  /** @property detail see `redirectUriProblem` */
  | { kind: 'malformed'; uri: string; problem: RedirectUriProblem; detail: string }

/** The redirect URIs of a client, each once. */
export function readRedirectUris(given: readonly string[]): RedirectUrisOutcome {
  for (const uri of given) {
    const found = redirectUriProblem(uri)
    if (found !== undefined) return { kind: 'malformed', uri, ...found }
  }
  const redirectUris = [...new Set(given)]
  if (redirectUris.length === 0) return { kind: 'missing' }
  return redirectUris.length > MOST_REDIRECT_URIS ? { kind: 'too_many' } : { kind: 'redirect_uris', redirectUris }
}
