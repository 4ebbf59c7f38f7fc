import { canonicalName } from '@valetkey/sign-in-rules'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { clientSignal } from '../../http/client-signal.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import type { SessionWay } from '../../storage/postgres/sessions.js'
import { checkForm, type FormPage } from '../csrf/check-form.js'
import { clientQuery, reasonForReturn } from '../pending-requests/pending-request.js'
import type { ValidationDeps } from '../pending-requests/validate-request.js'
import type { ForeignSignOut } from '../session/foreign-sign-out.js'
import type { SessionOptions } from '../session/session-plugin.js'
import { type CompletionDeps, completeSignIn } from './complete-sign-in.js'
import { KNOWN_ACCOUNTS_SECONDS, knowsAccount, rememberAccount } from './known-browser.js'
import { EMPTY_FORM, type LoginPageOptions, ownerOf, type PageContent, showLoginPage, startUrl } from './login-page.js'
import { type SignInDeps, type SignInResult, signIn } from './sign-in.js'
import { findSignInRequest, redirectToNextStep, type SignInRequest } from './sign-in-request.js'
import { type FormWay, onlyForeignWay } from './sign-in-ways.js'
import { signOut } from './sign-out.js'
import { refuseForeign, startAgain } from './start-again.js'

export type LoginRouteOptions = FormPage &
  SignInDeps &
  CompletionDeps &
  ValidationDeps &
  LoginPageOptions & { session: SessionOptions; foreignSignOut: Pick<ForeignSignOut, 'findUrl'> | undefined }

/** The notice for `?done=…`, after signing out. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['signed_out', 'login.signed_out'],
  ['signed_out_everywhere', 'login.signed_out_everywhere']
])

/** `/login` and `/logout`. Afterwards the browser returns to `/oauth/authorize`, which carries out the next step. */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (pages, options) => {
  pages.get('/login', async (request, reply) => {
    const query = clientQuery(request)
    const asked = await findSignInRequest(request, options)
    if (asked === undefined) return redirectToNextStep(request, reply, options)
    // The browser kept no cookie, so it could not send the form.
    if (query !== '' && !request.browserIsKnown) {
      request.wayBack = 'no_cookie'
      return startAgain(query, reply, options, 'no_cookie')
    }
    const done = query === '' ? (DONE.get(queryOf(request).get('done')) ?? '') : ''
    // The cookie names a session that has ended or was lost.
    const hasLostSession =
      request.signedIn === undefined && request.cookies[options.session.cookies.names.session] !== undefined
    const wasRefused = reasonForReturn(request) === 'interrupted'
    const only = onlyForeignWay(options.ways)
    // The page stays after signing out, which a provider would undo, after a refusal, which could repeat for ever, and for a choice.
    const mayLeave = done === '' && !wasRefused && !asked.canContinue
    if (only !== undefined && mayLeave) setRefreshHeader(startUrl(only, request, options), reply)
    // The form beside "Continue as …" is for another account.
    const content = { ...EMPTY_FORM, username: asked.canContinue ? '' : (request.signedIn?.username ?? ''), done }
    const notice = hasLostSession || wasRefused ? 'login.interrupted' : ''
    return showLoginPage({ ...content, notice }, asked, request, reply, options)
  })

  pages.post('/login', async (request, reply) => {
    const asked = await signInRequestOfForm(request, reply, options)
    if (asked === undefined) return reply
    return submit(asked, request, reply, options)
  })

  for (const way of options.ways.forms) {
    pages.post(`/login/${way.id}`, async (request, reply) => {
      const asked = await signInRequestOfForm(request, reply, options)
      if (asked === undefined) return reply
      return submitForm(way, asked, request, reply, options)
    })
    pages.get(`/login/${way.id}/options`, async (request, reply) =>
      reply.type('application/json').send(way.start(ownerOf(request)))
    )
  }

  pages.post('/logout', (request, reply) => signOut(request, reply, options))
  pages.get('/logout', async (_request, reply) => reply.redirect(`${options.issuer}/login`, 303))
}

/** Finds the request to sign in that a form of the sign-in page belongs to. @returns undefined if the response was sent instead */
async function signInRequestOfForm(
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<SignInRequest | undefined> {
  const check = checkForm(request, options)
  if (check === 'own') {
    const asked = await findSignInRequest(request, options)
    if (asked !== undefined && options.ways.local) return asked
    redirectToNextStep(request, reply, options)
  } else if (check === 'foreign') {
    refuseForeign(request, reply, options)
  } else if (request.signedIn) {
    // The user signed in in another tab meanwhile.
    startAgain(clientQuery(request), reply, options)
  } else {
    await showFormWithoutCookie(request, reply, options)
  }
  return undefined
}

/** The browser did not send the cookie of the page, so the password is not checked. The response sets a new cookie. */
async function showFormWithoutCookie(request: FastifyRequest, reply: FastifyReply, options: LoginRouteOptions) {
  const asked = await findSignInRequest(request, options)
  if (asked === undefined || !options.ways.local) return redirectToNextStep(request, reply, options)
  const content = { ...EMPTY_FORM, username: formOf(request).get('username') ?? '', notice: 'login.no_cookie' }
  return showLoginPage(content, asked, request, reply.code(422), options)
}

async function submit(
  asked: SignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  const { cookieKeys, session } = options
  const form = formOf(request)
  const username = form.get('username') ?? ''
  const account = canonicalName(username)
  const knownBrowser = knowsAccount(request.cookies[session.cookies.names.knownAccounts], account, cookieKeys)
  const attempt = { account, password: form.get('password') ?? '', knownBrowser, client: clientSignal(reply) }
  const result = await signIn(attempt, options, request)
  const content = { ...EMPTY_FORM, username, problem: { key: 'login.failed' }, wrong: true }
  return respond({ result, way: { kind: 'password' }, content }, asked, request, reply, options)
}

async function submitForm(
  { id, texts, finish }: FormWay,
  asked: SignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  const result = await finish(request)
  if (result.kind === 'expired') {
    return showLoginPage({ ...EMPTY_FORM, notice: texts.expired }, asked, request, reply.code(422), options)
  }
  const content = { ...EMPTY_FORM, problem: { key: texts.refused } }
  return respond({ result, way: { kind: id }, content }, asked, request, reply, options)
}

/** @property content of the page after a refusal */
type EvaluatedSignIn = { result: SignInResult; way: SessionWay; content: PageContent }

async function respond(
  { result, way, content }: EvaluatedSignIn,
  asked: SignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  const { cookieKeys, session } = options
  switch (result.kind) {
    case 'refused':
      return showLoginPage(content, asked, request, reply.code(422), options)
    case 'not_evaluated':
      return showTryLater(result, content.username, asked, request, reply, options)
    case 'signed_in': {
      const { names, attributes } = session.cookies
      const account = canonicalName(result.user.username)
      const remembered = rememberAccount(request.cookies[names.knownAccounts], account, cookieKeys)
      reply.setCookie(names.knownAccounts, remembered, { ...attributes, maxAge: KNOWN_ACCOUNTS_SECONDS })
      const opened = { user: result.user, way, authenticatedAt: session.now() }
      return completeSignIn(request, reply, opened, { query: clientQuery(request), ...asked }, options)
    }
  }
}

async function showTryLater(
  { reason, retryAfterSeconds }: Extract<SignInResult, { kind: 'not_evaluated' }>,
  username: string,
  asked: SignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  reply.code(429).header('retry-after', String(retryAfterSeconds))
  // No limit is reached; too many attempts are in progress. The same form can be sent again in seconds.
  if (reason === 'too_many_at_once') return sendErrorPage(request, reply, { status: 503, reason: 'busy' })
  const problem = { key: 'login.too_many_attempts', values: { minutes: Math.ceil(retryAfterSeconds / 60) } }
  return showLoginPage({ ...EMPTY_FORM, username, problem }, asked, request, reply, options)
}

/**
 * The browser opens `url` at once; if it does not, the page has a link. Not a redirect: it could follow a form of the account,
 * whose policy `form-action` would stop the redirect to the provider (ADR 0010).
 */
function setRefreshHeader(url: string, reply: FastifyReply): void {
  reply.header('refresh', `0;url=${url}`)
}
