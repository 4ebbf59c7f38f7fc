import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { checkForm } from '../../../browser/csrf/check-form.js'
import { createCsrfToken } from '../../../browser/csrf/csrf-token.js'
import { completeSignIn } from '../../../browser/login/complete-sign-in.js'
import { refuseForeign } from '../../../browser/login/start-again.js'
import { hashId, isRandomId } from '../../../browser/session/random-id.js'
import { isFresh } from '../../../browser/session/session-plugin.js'
import { formOf, queryOf } from '../../../platform/request-parts.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { confirmLink } from './confirm-link.js'
import { linkStartUrl } from './foreign-sign-in.js'
import type { LinkProposal } from './link-proposal-store.js'
import { attemptToLink } from './propose-link.js'
import { showSignInProblem } from './sign-in-problem.js'

type Found = { id: string; proposal: LinkProposal }

const VALID_MS = 10 * 60_000

/** `/login/link`: asks the user whether to link an identity to the account, and links it. */
export const linkingRoutes: FastifyPluginAsync<ForeignSignInDeps> = async (pages, options) => {
  const { issuer, cookieKeys, users } = options

  pages.get('/login/link', async (request, reply) => {
    const found = await findProposal(queryOf(request).get('proposal'), request, options)
    const user = found && (await users.findById(found.proposal.userId))
    if (found === undefined || user === undefined) return showOver(request, reply, options)
    const { id, proposal } = found
    const owner = { browserId: request.browserId, sessionHash: request.signedIn?.sessionHash }
    return reply.view('link-identity.hbs', {
      title: { key: 'linking.title', values: { label: proposal.label } },
      label: proposal.label,
      identityName: proposal.displayName ?? proposal.identity.subject,
      username: user.username,
      proposal: id,
      csrfToken: createCsrfToken(cookieKeys, owner),
      action: `${issuer}/login/link`,
      cancelUrl: linkStartUrl(proposal.purpose, issuer)
    })
  })

  pages.post('/login/link', async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeign(request, reply, options)
    const found = await findProposal(formOf(request).get('proposal'), request, options)
    if (check === 'stale' || found === undefined) return showOver(request, reply, options)
    return confirm(found, request, reply, options)
  })
}

async function confirm(
  { id, proposal }: Found,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ForeignSignInDeps
): Promise<FastifyReply> {
  const { issuer, proposals, session, audit, now } = options
  const { cookies } = session
  const { purpose, userId, label, way, authenticatedAt, maxSeconds } = proposal
  if (purpose.kind === 'link' && (request.signedIn === undefined || !isFresh(request.signedIn, now()))) {
    return reply.redirect(`${issuer}/login?page=sign-ins`, 303)
  }
  const result = await confirmLink(proposal, request, options)
  if (result.kind === 'refused') {
    const { reason } = result
    audit.record(request, { event: 'identity_refused', userId, reason })
    const attempt = reason === 'link_over' ? undefined : attemptToLink(proposal)
    return showSignInProblem(request, reply, { status: 403, reason, label, attempt }, options)
  }
  if (purpose.kind === 'link') {
    await proposals.remove(hashId(id))
    return reply.redirect(`${issuer}/account/sign-ins?done=linked`, 303)
  }
  audit.record(request, { event: 'sign_in_succeeded', userId, reason: way.kind })
  reply.clearCookie(cookies.names.accountLink, cookies.attributes)
  const since = authenticatedAt === undefined ? undefined : new Date(authenticatedAt)
  const opened = { user: result.user, way, authenticatedAt: since, maxSeconds }
  const response = await completeSignIn(
    request,
    reply,
    opened,
    { query: '', authorization: undefined, page: 'sign-ins' },
    options
  )
  await proposals.remove(hashId(id))
  return response
}

/** The proposal of this browser and, if a signed-in user began it, of this session. */
async function findProposal(
  id: string | undefined,
  request: FastifyRequest,
  { proposals, now }: ForeignSignInDeps
): Promise<Found | undefined> {
  if (!isRandomId(id) || !request.browserIsKnown) return undefined
  const proposal = await proposals.find(hashId(id))
  if (proposal === undefined || proposal.browserHash !== hashId(request.browserId)) return undefined
  // The expiry of Redis is not enough: a record that was copied must not come back later.
  if (now().getTime() - proposal.proposedAt >= VALID_MS) return undefined
  const { purpose } = proposal
  const isOwn = purpose.kind === 'invitation' || request.signedIn?.sessionHash === purpose.sessionHash
  return isOwn ? { id, proposal } : undefined
}

/** The form was sent before, or too late, or the session has changed. The list shows what is linked. */
function showOver(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ForeignSignInDeps
): Promise<FastifyReply> | FastifyReply {
  const { issuer, session, audit } = options
  audit.record(request, { event: 'identity_refused', userId: request.signedIn?.userId, reason: 'link_over' })
  if (request.signedIn !== undefined) return reply.redirect(`${issuer}/account/sign-ins`, 303)
  // The page of the invitation says whether it can still be accepted.
  const hasInvitation = request.cookies[session.cookies.names.accountLink] !== undefined
  if (hasInvitation) return reply.redirect(`${issuer}/account-link`, 303)
  return showSignInProblem(request, reply, { status: 400, reason: 'link_over', label: '', attempt: undefined }, options)
}
