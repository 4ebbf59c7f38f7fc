/** A client (RFC 6749 §2), without its secrets. */
export type Client = {
  clientId: string
  name: string
  /** `public` clients cannot keep a secret: no authentication, PKCE always (RFC 6749 §2.1, RFC 9700 §2.1.1). */
  type: 'confidential' | 'public'
  redirectUris: readonly string[]
  /** Scopes that the user cannot deselect on the consent page. */
  requiredScopes: readonly string[]
  optionalScopes: readonly string[]
  /** Resource identifiers of the APIs that it may request tokens for; undefined: the APIs of its scopes. */
  audiences?: readonly string[] | undefined
  requiresPkce: boolean
  /** Its authorization requests must be pushed (RFC 9126 §6). */
  requiresPushedRequests?: boolean | undefined
  issuesRefreshTokens: boolean
  consent: 'ask' | 'remember'
  /** Seconds, where the tokens of this client end earlier than the server's settings say. */
  lifetimes?: ClientLifetimes | undefined
  /**
   * Whether it authenticates with its key (`private_key_jwt`, RFC 7523 §2.2): at each request, or where it sends an assertion.
   * Undefined: it has no key.
   */
  privateKeyJwt?: 'required' | 'allowed' | undefined
  /** Each of its token requests must prove the possession of a key: `dpop_bound_access_tokens` (RFC 9449 §5.2). */
  dpopBound?: boolean | undefined
  /** A refresh does not replace its refresh token. Only of confidential clients (RFC 9700 §4.14.2). */
  keepsRefreshTokens?: boolean | undefined
  /** The profile that it follows. Its other settings fit it. */
  profile?: 'fapi2' | undefined
  /** Whether the present request proves that it has its key. Only of the client of a request. */
  provedKey?: true | undefined
  /** No operator registered it: its id is the URL of its metadata document. */
  isDiscovered?: boolean | undefined
}

export type ClientLifetimes = {
  accessToken: number | undefined
  refreshTokenIdle: number | undefined
  refreshTokenMax: number | undefined
}

/** Seconds. */
export type TokenLifetimes = { accessToken: number; refreshTokenIdle: number; refreshTokenMax: number }

/** The lifetimes of a client's tokens. A client's own lifetimes shorten the server's and never lengthen them. */
export function lifetimesOf({ lifetimes }: Pick<Client, 'lifetimes'>, server: TokenLifetimes): TokenLifetimes {
  if (lifetimes === undefined) return server
  const shorter = (ofClient: number | undefined, ofServer: number) => Math.min(ofClient ?? ofServer, ofServer)
  return {
    accessToken: shorter(lifetimes.accessToken, server.accessToken),
    refreshTokenIdle: shorter(lifetimes.refreshTokenIdle, server.refreshTokenIdle),
    refreshTokenMax: shorter(lifetimes.refreshTokenMax, server.refreshTokenMax)
  }
}

export function scopesOf(client: Client): readonly string[] {
  return [...client.requiredScopes, ...client.optionalScopes]
}

/**
 * Whether a user's earlier consent counts. Anyone can run a public client under its client_id, so its users are asked each
 * time, also if its record says `remember` (RFC 8252 §8.6).
 */
export function remembersConsent(client: Pick<Client, 'consent' | 'type'>): boolean {
  return client.consent === 'remember' && client.type === 'confidential'
}

/**
 * The unreserved characters (RFC 3986 §2.3), so that Basic works with and without form-encoding (RFC 6749 §2.3.1) and a
 * client id is a path segment and a file name as it is. `.` and `..` are neither. Without a colon, it is no URL.
 */
const IDENTIFIER = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$/

/** What `isClientIdentifier` accepts, for messages. */
export const CLIENT_IDENTIFIER_RULE = '1 to 128 characters of A-Z a-z 0-9 - . _ ~, and not be . or ..'

export function isClientIdentifier(value: string): boolean {
  return IDENTIFIER.test(value)
}
