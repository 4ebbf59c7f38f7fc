import { mayRemoveWay } from '@valetkey/sign-in-rules'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../../browser/account/account-navigation.js'
import { checkForm, refuseForeignForm } from '../../../browser/csrf/check-form.js'
import { createCsrfToken } from '../../../browser/csrf/csrf-token.js'
import { reopenSession } from '../../../browser/session/reopen-session.js'
import { isFresh, type SignedIn } from '../../../browser/session/session-plugin.js'
import { formOf, queryOf } from '../../../platform/request-parts.js'
import type { ConfiguredWays, SignInWayStore } from '../../../storage/postgres/sign-in-ways.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { type LinkableWay, signInsNotice, signInsView } from './sign-ins-view.js'

export type SignInsRouteOptions = Pick<
  ForeignSignInDeps,
  'issuer' | 'cookieKeys' | 'identities' | 'ownIdentities' | 'session' | 'audit'
> & {
  ways: readonly LinkableWay[]
  configured: ConfiguredWays
  signInWays: SignInWayStore
}

/** `/account/sign-ins`: the ways in which the user signs in; unlinks identities and leads to pages that change the others. */
export const signInsRoutes: FastifyPluginAsync<SignInsRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, identities, ways, configured, signInWays, audit } = options

  pages.get('/account/sign-ins', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(`${issuer}/login?page=sign-ins`, 303)
    const [linked, usable] = await Promise.all([identities.list(user.userId), signInWays.find(user.userId, configured)])
    return reply.view('account-sign-ins.hbs', {
      title: { key: 'account.sign_ins' },
      account: accountNavigation(issuer, 'sign-ins'),
      username: user.username,
      ...signInsNotice(queryOf(request)),
      ...signInsView({ identities: linked, usable, ways, hasPasskeys: configured.passkeys }),
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
      unlinkUrl: `${issuer}/account/sign-ins/unlink`,
      passwordUrl: `${issuer}/account/password`,
      passkeysUrl: `${issuer}/account/passkeys`
    })
  })

  pages.post('/account/sign-ins/unlink', async (request, reply) => {
    const page = `${issuer}/account/sign-ins`
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: page })
    const user = request.signedIn
    // The form was shown to another session: show the present list.
    if (check === 'stale' || user === undefined) return reply.redirect(page, 303)
    if (!isFresh(user, options.session.now())) return reply.redirect(`${issuer}/login?page=sign-ins`, 303)
    return unlink(user, request, reply, options)
  })
}

async function unlink(
  signedIn: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, identities, ownIdentities, configured, signInWays, session }: SignInsRouteOptions
): Promise<FastifyReply> {
  const { userId } = signedIn
  const form = formOf(request)
  const identity = { issuer: form.get('issuer') ?? '', subject: form.get('subject') ?? '' }
  const linked = await identities.list(userId)
  // A form that was sent twice: the identity is gone already.
  if (!linked.some(({ issuer, subject }) => issuer === identity.issuer && subject === identity.subject)) {
    return reply.redirect(`${issuer}/account/sign-ins`, 303)
  }
  const isUsable = configured.issuers.includes(identity.issuer)
  if (!mayRemoveWay(await signInWays.find(userId, configured), isUsable)) {
    return reply.redirect(`${issuer}/account/sign-ins?problem=last_way`, 303)
  }
  const event = 'identity_unlinked'
  const { id: requestId, ip: address, trustedTrace } = request
  const note = {
    event,
    requestId,
    traceId: trustedTrace?.traceId,
    clientId: undefined,
    userId,
    address,
    details: identity
  }
  const user = await ownIdentities.unlink(signedIn, identity, note)
  // The redirect follows another removal at the same moment as well: the page shows what is left.
  if (user === undefined) return reply.redirect(`${issuer}/account/sign-ins`, 303)
  request.log.info({ event, userId, address, ...identity }, 'identity unlinked')
  // All sessions of the user have ended; this browser gets a new one.
  await reopenSession(request, reply, { user }, session)
  return reply.redirect(`${issuer}/account/sign-ins?done=unlinked`, 303)
}
