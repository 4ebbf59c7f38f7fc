import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { checkForm, refuseForeignForm } from '../../browser/csrf/check-form.js'
import { createCsrfToken } from '../../browser/csrf/csrf-token.js'
import { completeSignIn } from '../../browser/login/complete-sign-in.js'
import { clientSignal } from '../../http/client-signal.js'
import { allowScripts, PASSWORD_SCRIPTS } from '../../http/security-headers.js'
import type { Message } from '../../platform/i18n/language.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import type { AccountLinkDeps } from './account-link-deps.js'
import type { AccountLink } from './account-link-store.js'
import { hashAccountLinkToken } from './account-link-token.js'
import { type FoundLink, findLink, redeemLink } from './redeem-link.js'

/** The time from the link in the mail to the form. */
const COOKIE_SECONDS = 3600

/**
 * `/account-link`: with an invitation or a reset link, a user sets a password. The token moves from the address to a cookie at
 * once: the page with the form has no secret in its address, so history and `Referer` have none.
 */
export const accountLinkRoutes: FastifyPluginAsync<AccountLinkDeps> = async (pages, options) => {
  const { issuer, cookieKeys, session, ways, passwordRules, audit } = options
  const { cookies, now } = session
  const pageUrl = `${issuer}/account-link`

  pages.get('/account-link', async (request, reply) => {
    reply.header('referrer-policy', 'no-referrer')
    const given = queryOf(request).get('token')
    if (given !== undefined && hashAccountLinkToken(given) !== undefined) {
      reply.setCookie(cookies.names.accountLink, given, { ...cookies.attributes, maxAge: COOKIE_SECONDS })
      return reply.redirect(pageUrl, 303)
    }
    const token = given ?? request.cookies[cookies.names.accountLink]
    const found = await findLink(hashAccountLinkToken(token), options, request)
    if (found.kind === 'unknown') return showUnknown(reply, options)
    if (found.kind === 'not_evaluated') return showTryLater(found, reply)
    return showForm({ link: found.link, token: token ?? '', problem: '' }, request, reply, options)
  })

  pages.post('/account-link', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: pageUrl })
    if (check === 'stale') {
      // The form came back with Back or a second click after the link was used.
      const isUsed = request.signedIn !== undefined && request.cookies[cookies.names.accountLink] === undefined
      return reply.redirect(isUsed ? `${issuer}/account/apps` : pageUrl, 303)
    }
    const form = formOf(request)
    const token = form.get('token')
    const tokenHash = hashAccountLinkToken(token)
    const found = await findLink(tokenHash, options, request)
    if (found.kind === 'not_evaluated') return showTryLater(found, reply)
    if (found.kind === 'unknown' || tokenHash === undefined) return showUnknown(reply, options)
    const { link } = found
    if (!ways.local) return refuseLocal(link, request, reply, options)
    const endsAccess = form.get('end_access') === 'on'
    const password = form.get('new_password') ?? ''
    const redemption = { link, tokenHash, password, endsAccess, client: clientSignal(reply) }
    const result = await redeemLink(redemption, options, request)
    switch (result.kind) {
      case 'unknown':
        return showUnknown(reply, options)
      case 'bad_password': {
        const problem = { key: `password.${result.problem}`, values: { minLength: passwordRules.minLength } }
        return showForm({ link, token: token ?? '', problem, endsAccess }, request, reply.code(422), options)
      }
      case 'redeemed': {
        reply.clearCookie(cookies.names.accountLink, cookies.attributes)
        const opened = { user: result.user, way: { kind: 'link' }, authenticatedAt: now() } as const
        return completeSignIn(request, reply, opened, { query: '', authorization: undefined }, options)
      }
    }
  })
}

type FormContent = { link: AccountLink; token: string; problem: Message | ''; endsAccess?: boolean }

async function showForm(
  { link, token, problem, endsAccess = false }: FormContent,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AccountLinkDeps
): Promise<FastifyReply> {
  const { issuer, cookieKeys, ways, passwordRules } = options
  const { user, purpose } = link
  // Without local sign-in, a password is of no use.
  if (!ways.local && purpose === 'password_reset') return refuseLocal(link, request, reply, options)
  // Browsers send `Origin: null` with forms of a page without referrer. The address of this page has no token.
  reply.header('referrer-policy', 'same-origin')
  allowScripts(reply)
  const invited = new URLSearchParams({ purpose: 'invitation', token })
  const foreign = purpose === 'invitation' ? ways.foreign : []
  return reply.view('account-link.hbs', {
    scripts: PASSWORD_SCRIPTS,
    title: { key: `account_link.${purpose}.title` },
    lead: { key: `account_link.${purpose}.lead`, values: { username: user.username } },
    isReset: purpose === 'password_reset',
    hasLocal: ways.local,
    localFirst: ways.local,
    foreign: foreign.map((way) => ({ label: way.label, url: `${issuer}${way.path}?${invited}` })),
    username: user.username,
    token,
    problem,
    endsAccess,
    minLength: passwordRules.minLength,
    csrfToken: createCsrfToken(cookieKeys, {
      browserId: request.browserId,
      sessionHash: request.signedIn?.sessionHash
    }),
    action: `${issuer}/account-link`
  })
}

/** The same page whatever the reason, so that it says nothing about users. */
function showUnknown(reply: FastifyReply, { issuer }: Pick<AccountLinkDeps, 'issuer'>): FastifyReply {
  return showMessage('account_link.unknown', {}, reply.code(404), `${issuer}/login`)
}

/** The link was made before local sign-in was switched off. */
function refuseLocal(
  { user }: AccountLink,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AccountLinkDeps
): FastifyReply {
  const { userId } = user
  options.audit.record(request, { event: 'account_link_refused', userId, reason: 'local_sign_in_off' })
  return showUnknown(reply, options)
}

function showTryLater(
  { reason, retryAfterSeconds }: Extract<FoundLink, { kind: 'not_evaluated' }>,
  reply: FastifyReply
): FastifyReply {
  const values = { minutes: Math.ceil(retryAfterSeconds / 60) }
  reply.code(429).header('retry-after', String(retryAfterSeconds))
  const key = reason === 'too_many_at_once' ? 'account_link.too_many_at_once' : 'account_link.too_many'
  return showMessage(key, values, reply)
}

/** @param signInUrl shown with the sentence for users whose link was used a moment ago, for example by a double click */
function showMessage(key: string, values: Record<string, number>, reply: FastifyReply, signInUrl = ''): FastifyReply {
  const text = (part: string) => ({ key: `${key}.${part}`, values })
  const content = { title: text('title'), message: text('message'), advice: text('advice'), signInUrl }
  return reply.view('account-link-problem.hbs', content)
}
