import type { FastifyReply, FastifyRequest } from 'fastify'
import { wayCookieValue } from '../../../browser/login/sign-in-ways.js'
import { hashId, newRandomId } from '../../../browser/session/random-id.js'
import { isFresh } from '../../../browser/session/session-plugin.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import type { IdentityKey } from './identity-store.js'
import type { LinkProposal } from './link-proposal-store.js'
import { type SignInProblem, showSignInProblem } from './sign-in-problem.js'

/** A verified identity, as `ReceivedIdentity` has it. */
type ProposedIdentity = IdentityKey &
  Pick<LinkProposal, 'label' | 'displayName' | 'way'> & {
    authenticatedAt: Date | undefined
    maxSeconds?: number | undefined
  }

/**
 * Stores that the identity may be linked to the account, and sends the browser to the page that asks. Only the answer links:
 * an attacker can make a browser sign in at a provider (login CSRF), but the user sees both names.
 */
export async function proposeLink(
  received: ProposedIdentity,
  purpose: LinkProposal['purpose'],
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps
): Promise<FastifyReply> {
  const { issuer, proposals, identities, ownIdentities, audit, now } = deps
  const { label, displayName, way, authenticatedAt, maxSeconds } = received
  const userId =
    purpose.kind === 'link' ? ownerOf(purpose, request) : (await ownIdentities.findInvited(purpose.tokenHash))?.userId
  const refuse = (reason: 'link_over' | 'linked_elsewhere' | 'not_confirmed') => {
    audit.record(request, { event: 'identity_refused', userId, reason })
    // A link that is over cannot start again.
    const attempt = reason === 'link_over' ? undefined : attemptToLink({ purpose, way })
    return showSignInProblem(request, reply, { status: 403, reason, label, attempt }, deps)
  }
  if (userId === undefined) return refuse('link_over')
  // Another person may be signed in at the login page of this browser.
  const isFreshThere = isFresh({ authenticatedAt: authenticatedAt?.getTime() }, now())
  if (purpose.kind === 'link' && !isFreshThere) return refuse('not_confirmed')
  const linked = await identities.findUser(received)
  if (linked !== undefined && linked.userId !== userId) return refuse('linked_elsewhere')
  if (linked !== undefined && purpose.kind === 'link') {
    return reply.redirect(`${issuer}/account/sign-ins?done=linked`, 303)
  }
  const id = newRandomId()
  await proposals.add(hashId(id), {
    identity: { issuer: received.issuer, subject: received.subject },
    purpose,
    userId,
    browserHash: hashId(request.browserId),
    label,
    displayName,
    way,
    proposedAt: now().getTime(),
    authenticatedAt: authenticatedAt?.getTime(),
    maxSeconds
  })
  return reply.redirect(`${issuer}/login/link?proposal=${id}`, 303)
}

/** What the page of a problem needs to lead back to the start. */
export function attemptToLink({ purpose, way }: Pick<LinkProposal, 'purpose' | 'way'>): SignInProblem['attempt'] {
  return { query: '', way: wayCookieValue(way), purpose }
}

/** The user who began to link, if the browser still has that session. */
function ownerOf(
  purpose: Extract<LinkProposal['purpose'], { kind: 'link' }>,
  { signedIn }: FastifyRequest
): string | undefined {
  const isOwner = signedIn?.userId === purpose.userId && signedIn.sessionHash === purpose.sessionHash
  return isOwner ? purpose.userId : undefined
}
