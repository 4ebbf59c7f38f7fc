/** How an app is set up: what it reads from the metadata, and how it proves who it is. */
export type Setup = { discovery: boolean; pkce: boolean; authentication: 'basic' | 'body' | 'none' }

export type Registration = {
  issuer: string
  clientId: string
  clientSecret: string
  redirectUri: string
  scope: string
}

export type Tokens = { accessToken: string; refreshToken: string; scope: string }

/** One app, written with one library: each step as that library does it. */
type App = {
  /** Where the browser is sent. */
  begin(): Promise<URL>
  /** Judges the answer that came back by the browser and exchanges the code. */
  finish(callback: URL): Promise<Tokens>
  refresh(refreshToken: string): Promise<Tokens>
  revokeAccessToken(tokens: Tokens): Promise<void>
}

export type ClientLibrary = {
  createApp(registration: Registration, setup: Setup): Promise<App>
  /** What the library hands its user of an OAuth error. */
  refusalOf(error: unknown): { error: string | undefined; description: string | undefined }
}

/** For libraries, or setups, that take the endpoints by hand. */
export function endpointsOf(issuer: string): { authorize: string; token: string; revoke: string } {
  return { authorize: `${issuer}/oauth/authorize`, token: `${issuer}/token`, revoke: `${issuer}/oauth/revoke` }
}
