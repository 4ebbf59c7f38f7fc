import type { AuthorizationOptions } from '../src/authorization-request.js'
import type { Client } from '../src/client.js'

export const CLIENT: Client = {
  clientId: 'app',
  name: 'An app',
  type: 'confidential',
  redirectUris: ['https://app.example/cb', 'http://127.0.0.1/cb'],
  requiredScopes: ['files.read'],
  optionalScopes: ['files.write'],
  requiresPkce: false,
  issuesRefreshTokens: true,
  consent: 'ask'
}

export const CONTEXT: AuthorizationOptions = {
  client: CLIENT,
  defaultAudience: 'https://files.example',
  isKnownAudience: (resource) => resource === 'https://photos.example'
}

// RFC 7636 appendix B.
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/** A valid request. */
const VALID = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'https://app.example/cb',
  scope: 'files.read',
  state: 'xyz',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256'
} as const

export type Change = Readonly<Record<string, string | undefined>>

/** The query of the valid request with some parameters changed, added, or (`undefined`) left out. */
export function query(change: Change = {}, appended = ''): string {
  const given: Change = { ...VALID, ...change }
  const sent = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) if (value !== undefined) sent.append(name, value)
  return sent.toString() + appended
}
