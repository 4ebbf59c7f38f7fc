import { redirectTarget } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { allowForms } from '../../http/security-headers.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { Message } from '../../platform/i18n/language.js'
import { formOf } from '../../platform/request-parts.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { checkForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { formActionSources } from '../pending-requests/form-action.js'
import { addPendingRequest, clientQuery, reasonForReturn, stepUrl } from '../pending-requests/pending-request.js'
import { type ValidatedRequest, type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import { openSession, type SessionOptions } from '../session/session-plugin.js'
import { nextStep, requiresSignIn, stateOfPage } from '../steps/next-step.js'
import { knowsAccount, rememberAccount } from './known-browser.js'
import { type PageOptions, refuseForeign, startAgain } from './page-responses.js'
import { type SignInDeps, type SignInResult, signIn, toAccount } from './sign-in.js'
import { signOut } from './sign-out.js'

export type LoginRouteOptions = PageOptions & {
  validation: ValidationDeps
  pending: Pick<PendingRequestStore, 'add'>
  session: SessionOptions
  signIn: SignInDeps
}

/** The authorization request in the address. Undefined if the user opened the page without one. */
type Authorization = Extract<ValidatedRequest, { kind: 'accepted' }> | undefined

type PageContent = { username: string; problem: Message | ''; wrong: boolean; done: string; isInterrupted: boolean }

const EMPTY_FORM: PageContent = { username: '', problem: '', wrong: false, done: '', isInterrupted: false }

/** The notice for `?done=…`, after signing out. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['signed_out', 'login.signed_out'],
  ['signed_out_everywhere', 'login.signed_out_everywhere']
])

const KNOWN_ACCOUNTS_SECONDS = 365 * 86_400

/** `/login` and `/logout`. Afterwards the browser returns to `/oauth/authorize`, which carries out the next step. */
export const loginRoutes: FastifyPluginAsync<LoginRouteOptions> = async (pages, options) => {
  pages.get<{ Querystring: { done?: string } }>('/login', async (request, reply) => {
    const query = clientQuery(request)
    const step = await findStep(request, options)
    if (step.kind === 'elsewhere') return leave(query, reply, options)
    // The browser kept no cookie, so it could not send the form.
    if (query !== '' && !request.browserIsKnown) return startAgain(query, reply, options, 'no_cookie')
    const done = DONE.get(request.query.done) ?? ''
    // The cookie names a session that has ended or was lost.
    const hasLostSession =
      request.signedIn === undefined && request.cookies[options.session.cookies.names.session] !== undefined
    const isInterrupted = hasLostSession || reasonForReturn(request) === 'interrupted'
    return showForm({ ...EMPTY_FORM, done, isInterrupted }, step.authorization, request, reply, options)
  })

  pages.post('/login', async (request, reply) => {
    const query = clientQuery(request)
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeign(request, reply, options)
    // If the user signed in in another tab meanwhile, nothing was interrupted.
    if (check === 'stale') return startAgain(query, reply, options, request.signedIn ? undefined : 'interrupted')
    const step = await findStep(request, options)
    if (step.kind === 'elsewhere') return leave(query, reply, options)
    return submit(step.authorization, request, reply, options)
  })

  pages.post('/logout', (request, reply) => signOut(request, reply, options))
  pages.get('/logout', async (_request, reply) => reply.redirect(`${options.issuer}/login`, 303))
}

/** Whether signing in is the next step of this request and session. `/oauth/authorize` reports an invalid request. */
async function findStep(
  request: FastifyRequest,
  { validation }: LoginRouteOptions
): Promise<{ kind: 'sign_in'; authorization: Authorization } | { kind: 'elsewhere' }> {
  const query = clientQuery(request)
  const validated = query === '' ? undefined : await validateRequest(query, validation)
  if (validated !== undefined && validated.kind !== 'accepted') return { kind: 'elsewhere' }
  const step = nextStep({ session: stateOfPage(request.signedIn), authorization: validated })
  return step === 'sign_in' ? { kind: 'sign_in', authorization: validated } : { kind: 'elsewhere' }
}

/** To the step that serves the request; without a request, to the page of the account. */
function leave(query: string, reply: FastifyReply, { issuer }: LoginRouteOptions): FastifyReply {
  return reply.redirect(query === '' ? `${issuer}/account/apps` : stepUrl(issuer, '/oauth/authorize', query), 303)
}

async function submit(
  authorization: Authorization,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  const { cookieKeys, session } = options
  const { names, attributes } = session.cookies
  const form = formOf(request)
  const username = form.get('username') ?? ''
  const account = toAccount(username)
  const knownAccounts = request.cookies[names.knownAccounts]
  const knownBrowser = knowsAccount(knownAccounts, account, cookieKeys)
  const attempt = { account, password: form.get('password') ?? '', knownBrowser }
  const result = await signIn(attempt, options.signIn, request)
  switch (result.kind) {
    case 'refused': {
      const content = { ...EMPTY_FORM, username, problem: { key: 'login.failed' }, wrong: true }
      return showForm(content, authorization, request, reply.code(422), options)
    }
    case 'not_evaluated':
      return showTryLater(result, { username, authorization }, request, reply, options)
    case 'signed_in': {
      const remembered = rememberAccount(knownAccounts, account, cookieKeys)
      reply.setCookie(names.knownAccounts, remembered, { ...attributes, maxAge: KNOWN_ACCOUNTS_SECONDS })
      const owner = await openSession(request, reply, result.user, session)
      const query = clientQuery(request)
      if (authorization === undefined || !requiresSignIn(authorization.request)) return leave(query, reply, options)
      // Shows /oauth/authorize that the user has signed in for this request. An edited address cannot.
      const { id } = await addPendingRequest(request, owner, options.pending)
      return reply.redirect(stepUrl(options.issuer, '/oauth/authorize', query, { resume: id }), 303)
    }
  }
}

async function showTryLater(
  { reason, retryAfterSeconds }: Extract<SignInResult, { kind: 'not_evaluated' }>,
  { username, authorization }: { username: string; authorization: Authorization },
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginRouteOptions
): Promise<FastifyReply> {
  reply.code(429).header('retry-after', String(retryAfterSeconds))
  // No limit is reached; too many attempts are in progress. The same form can be sent again in seconds.
  if (reason === 'too_many_at_once') return sendErrorPage(request, reply, { status: 429, reason: 'busy' })
  const problem = { key: 'login.too_many_attempts', values: { minutes: Math.ceil(retryAfterSeconds / 60) } }
  return showForm({ ...EMPTY_FORM, username, problem }, authorization, request, reply, options)
}

async function showForm(
  content: PageContent,
  authorization: Authorization,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, cookieKeys }: LoginRouteOptions
): Promise<FastifyReply> {
  if (authorization !== undefined) {
    allowForms(reply, formActionSources(redirectTarget(authorization.request.redirectUri)))
  }
  const owner = { browserId: request.browserId, sessionHash: request.signedIn?.sessionHash }
  return reply.view('login.hbs', {
    title: { key: 'login.title' },
    ...content,
    clientName: authorization?.client.name ?? '',
    csrfToken: createCsrfToken(cookieKeys, owner),
    action: stepUrl(issuer, '/login', clientQuery(request))
  })
}
