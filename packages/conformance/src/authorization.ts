import { createHash, randomBytes } from 'node:crypto'
import type { Received } from './http.js'
import { CouldNotTest, failed, NotApplicable, type Outcome, passed } from './outcome.js'
import type { Session } from './session.js'

const MAX_REDIRECTS = 5

/** A parameter with `undefined` is left out; a list is sent as repeated parameters. */
export type Change = Record<string, string | readonly string[] | undefined>

export type Authorization =
  /** The browser left for the redirect URI of the request. */
  | { kind: 'redirected'; to: URL }
  /** An error page. */
  | { kind: 'refused'; status: number }
  /** A page without an error status: probably the sign-in page. */
  | { kind: 'page'; page: Received | undefined }

export function newVerifier(): string {
  return randomBytes(32).toString('base64url')
}

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

/** An authorization request that a server should accept, with changes (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2). */
export function authorizationUrl(session: Session, change: Change = {}): URL {
  const { id, redirectUri, scope } = session.client()
  const parameters: Change = {
    response_type: 'code',
    client_id: id,
    redirect_uri: redirectUri,
    scope,
    state: newVerifier(),
    code_challenge: challengeOf(newVerifier()),
    code_challenge_method: 'S256',
    resource: session.resource?.identifier,
    ...change
  }
  const url = new URL(session.metadata.authorizationEndpoint)
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) url.searchParams.append(name, one)
  }
  return url
}

/**
 * Opens an authorization request as a new browser, and follows redirects within the server.
 * @throws CouldNotTest after five redirects
 */
export async function openAuthorization(session: Session, request: URL): Promise<Authorization> {
  const targets = request.searchParams.getAll('redirect_uri').filter((uri) => URL.canParse(uri))
  const cookies = new Map<string, string>()
  let url = request
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await session.send({ method: 'GET', url: url.href, headers: browserHeaders(cookies) })
    keepCookies(response, cookies)
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return evaluatePage(response)
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
    if (next === undefined) return { kind: 'refused', status: response.status }
    if (targets.some((target) => isAt(next, new URL(target)))) return { kind: 'redirected', to: next }
    // The sign-in page of another origin.
    if (next.origin !== request.origin) return { kind: 'page', page: undefined }
    url = next
  }
  throw new CouldNotTest(
    `the authorization endpoint redirects more than ${MAX_REDIRECTS} times without leaving the server`
  )
}

function browserHeaders(cookies: ReadonlyMap<string, string>): Record<string, string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return { accept: 'text/html', ...(cookie !== '' && { cookie }) }
}

function keepCookies({ headers }: Received, cookies: Map<string, string>): void {
  for (const line of headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? []
    if (name !== '') cookies.set(name, value)
  }
}

function evaluatePage(page: Received): Authorization {
  return page.status >= 400 ? { kind: 'refused', status: page.status } : { kind: 'page', page }
}

function isAt(url: URL, target: URL): boolean {
  return url.protocol === target.protocol && url.host === target.host && url.pathname === target.pathname
}

/**
 * Opens the authorization like `openAuthorization`; if the server shows a page, the user signs in and allows access.
 * @throws NotApplicable without --sign-in, because the server may validate the request only after the sign-in
 */
export async function completeAuthorization(
  session: Session,
  request: URL
): Promise<Exclude<Authorization, { kind: 'page' }>> {
  const opened = await openAuthorization(session, request)
  if (opened.kind !== 'page') return opened
  if (session.signIn === undefined) throw new NotApplicable('the server shows a page first; needs --sign-in')
  const to = await session.signIn(request.href)
  return to === undefined ? { kind: 'refused', status: 400 } : { kind: 'redirected', to }
}

/** The parameters of a response, in the query or the fragment. */
export function responseParameters(to: URL): URLSearchParams {
  return new URLSearchParams([...to.searchParams, ...new URLSearchParams(to.hash.slice(1))])
}

/**
 * Passed if the request was refused: by an error page, or by a redirect with an error.
 * @param errors the fitting error codes; any, if left out
 */
export async function expectRefusal(session: Session, change: Change, errors?: readonly string[]): Promise<Outcome> {
  const answer = await completeAuthorization(session, authorizationUrl(session, change))
  if (answer.kind === 'refused')
    return answer.status < 500 ? passed : failed(`the server responded with ${answer.status}`)
  const given = responseParameters(answer.to)
  for (const name of ['code', 'access_token']) {
    session.remember(...given.getAll(name))
    if (given.has(name)) return failed(`the server issued ${name}`)
  }
  const error = given.get('error')
  if (error === null) return failed('the server redirected without an error')
  if (errors !== undefined && !errors.includes(error))
    return failed(`error is ${error}, expected ${errors.join(' or ')}`)
  return passed
}

/** The redirect of a request that every server must refuse. Reused by the checks of error responses. */
export async function errorRedirect(session: Session, state: string): Promise<URLSearchParams> {
  return session.once('error redirect', async () => {
    const answer = await completeAuthorization(
      session,
      authorizationUrl(session, { response_type: 'conformance', state })
    )
    if (answer.kind === 'refused') throw new NotApplicable('the server shows its errors on its own page')
    return answer.to.searchParams
  })
}
