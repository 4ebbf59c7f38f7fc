/** A registered client as the rules see it (RFC 6749 §2). Its secrets are checked elsewhere and never travel with it. */
export type Client = {
  clientId: string
  name: string
  /** `public` clients cannot keep a secret: no authentication, PKCE always (RFC 6749 §2.1, RFC 9700 §2.1.1). */
  type: 'confidential' | 'public'
  redirectUris: readonly string[]
  /** Scopes that the consent page has no way to leave out. */
  requiredScopes: readonly string[]
  optionalScopes: readonly string[]
  requiresPkce: boolean
  issuesRefreshTokens: boolean
  consent: 'ask' | 'remember'
  /** In seconds, where this client's tokens are to live shorter than the server is set to. */
  lifetimes?: ClientLifetimes | undefined
}

export type ClientLifetimes = {
  accessToken: number | undefined
  refreshTokenIdle: number | undefined
  refreshTokenMax: number | undefined
}

export function scopesOf(client: Client): readonly string[] {
  return [...client.requiredScopes, ...client.optionalScopes]
}

/** Characters whose form-encoded and raw bytes are the same, so that Basic works either way (RFC 6749 §2.3.1). */
const IDENTIFIER = /^[A-Za-z0-9_-]{1,128}$/

export function isClientIdentifier(value: string): boolean {
  return IDENTIFIER.test(value)
}
