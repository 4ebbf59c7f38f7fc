/** Setup of an app: whether it reads the metadata, how it authenticates, and whether it pushes its requests. */
export type Setup = { discovery: boolean; pkce: boolean; authentication: 'basic' | 'body' | 'none'; pushes?: true }

export type Registration = {
  issuer: string
  clientId: string
  clientSecret: string
  redirectUri: string
  scope: string
}

export type Tokens = { accessToken: string; refreshToken: string; scope: string }

/** An app written with one library. */
type App = {
  /** The URL of the authorization request. */
  begin(): Promise<URL>
  /** Validates the authorization response and exchanges the code. */
  finish(callback: URL): Promise<Tokens>
  refresh(refreshToken: string): Promise<Tokens>
  revokeAccessToken(tokens: Tokens): Promise<void>
}

export type ClientLibrary = {
  createApp(registration: Registration, setup: Setup): Promise<App>
  /** The OAuth error as the library reports it. */
  refusalOf(error: unknown): { error: string | undefined; description: string | undefined }
}

/** Returns the endpoints for libraries or setups with configured endpoints. */
export function endpointsOf(issuer: string): { authorize: string; token: string; revoke: string } {
  return { authorize: `${issuer}/oauth/authorize`, token: `${issuer}/token`, revoke: `${issuer}/oauth/revoke` }
}
