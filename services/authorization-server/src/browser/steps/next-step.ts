import { type AuthorizationRequest, type Client, isWithinScope, remembersConsent } from '@valetkey/oauth-protocol'

export type NextStep =
  /** `/login` */
  | 'sign_in'
  /** `/oauth/authorize` stores the pending authorization request and redirects to `/consent`. */
  | 'start_consent'
  /** `/consent` */
  | 'ask_consent'
  /** `/oauth/authorize` */
  | 'issue_code'
  /** `/account/…` */
  | 'show_account'
  /** `/oauth/authorize` redirects with this error, because the client sent `prompt=none`. */
  | 'login_required'
  | 'consent_required'

export type SessionState =
  /** No session, or the session has ended. */
  | { kind: 'none' }
  | {
      kind: 'signed_in'
      /** The user signed in after this request began. */
      isForThisRequest: boolean
      /** Seconds since the user last gave a password, passkey or the like. Undefined if it is unknown. */
      authenticationAge: number | undefined
      /** Scope of the remembered consent. A step that does not depend on it leaves it empty. */
      rememberedScope: readonly string[]
      /** Optional scopes that the user left out of it. */
      declinedScope: readonly string[]
    }
  /** Signed in, and the pending authorization request is stored for this user, browser and session. */
  | { kind: 'decision_pending' }

/** State for a page that needs no remembered consent: it is shown, or redirects to `/oauth/authorize`. */
export function stateOfPage(user: object | undefined, authenticationAge?: number): SessionState {
  return user === undefined
    ? { kind: 'none' }
    : { kind: 'signed_in', isForThisRequest: false, authenticationAge, rememberedScope: [], declinedScope: [] }
}

/** The parameters of a request that can require a new sign-in. */
export type SignInParameters = Pick<AuthorizationRequest, 'prompt' | 'maxAge'>

/** The document of the client may be read only after sign-in, so nothing but the user's side of the request is known. */
type UnreadClient = { client: undefined; request: SignInParameters }

export type Situation = {
  session: SessionState
  /** The authorization request in the address. Undefined if the user opened a page without one. */
  authorization: { client: Client; request: AuthorizationRequest } | UnreadClient | undefined
  /** A change of the account needs a new sign-in, because the last one is too old. */
  mustConfirm?: boolean
}

/**
 * The step that serves this request and session. Every step asks this function, and redirects if it names another step.
 * So an edited address cannot skip a step.
 */
export function nextStep({ session, authorization, mustConfirm = false }: Situation): NextStep {
  if (authorization === undefined) return session.kind === 'none' || mustConfirm ? 'sign_in' : 'show_account'
  const mayShowPage = !authorization.request.prompt.includes('none')
  if (session.kind === 'none' || authorization.client === undefined) return mayShowPage ? 'sign_in' : 'login_required'
  const { client, request } = authorization
  // The user is being asked, so sign-in is done. A consent remembered in another tab must not decide instead of the buttons.
  if (session.kind === 'decision_pending') return mayShowPage ? 'ask_consent' : 'consent_required'
  if (requiresSignIn(request, session)) return mayShowPage ? 'sign_in' : 'login_required'
  if (isDecided(request, client, session) && !request.prompt.includes('consent')) return 'issue_code'
  return mayShowPage ? 'start_consent' : 'consent_required'
}

/**
 * Whether the user has decided about every requested scope. A scope that was declined is not asked for again, unless it is now
 * required or nothing else is requested; the code has only what was allowed.
 */
function isDecided(
  { scope }: Pick<AuthorizationRequest, 'scope'>,
  client: Client,
  { rememberedScope, declinedScope }: Extract<SessionState, { kind: 'signed_in' }>
): boolean {
  if (!remembersConsent(client) || !scope.some((name) => rememberedScope.includes(name))) return false
  const optional = declinedScope.filter((name) => !client.requiredScopes.includes(name))
  return isWithinScope(scope, [...rememberedScope, ...optional])
}

/** Whether a session from before this request is not enough. A sign-in for this request always is, however long it has taken. */
function requiresSignIn(
  request: SignInParameters,
  { isForThisRequest, authenticationAge: age }: Extract<SessionState, { kind: 'signed_in' }>
): boolean {
  if (isForThisRequest) return false
  return asksForSignIn(request.prompt) || isTooOld(request, age)
}

/**
 * Whether the user may answer with the account of a session from before this request: `prompt=select_account` asks for a
 * choice, not for a password (OpenID Connect Core §3.1.2.1).
 * @param age `authenticationAge` of the session
 */
export function asksForAccountOnly(request: SignInParameters, age: number | undefined): boolean {
  const { prompt } = request
  return prompt.includes('select_account') && !prompt.includes('login') && !isTooOld(request, age)
}

function isTooOld({ maxAge }: SignInParameters, age: number | undefined): boolean {
  return maxAge !== undefined && (age === undefined || age > maxAge)
}

/** Whether a session from before this request may not be enough. Then a sign-in for this request counts once. */
export function mayRequireSignIn({ prompt, maxAge }: SignInParameters): boolean {
  return asksForSignIn(prompt) || maxAge !== undefined
}

function asksForSignIn(prompt: AuthorizationRequest['prompt']): boolean {
  return prompt.includes('login') || prompt.includes('select_account')
}
