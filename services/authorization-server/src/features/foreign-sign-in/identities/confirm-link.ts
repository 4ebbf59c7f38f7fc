import type { FastifyRequest } from 'fastify'
import type { AuditNote } from '../../../storage/postgres/audited.js'
import type { User } from '../../../storage/postgres/users.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import type { LinkProposal } from './link-proposal-store.js'

export type ConfirmedLink =
  | { kind: 'linked'; user: User }
  | { kind: 'refused'; reason: 'linked_elsewhere' | 'link_over' }

/** Links the identity of a proposal. A form that is sent twice, also in parallel, gives the same result twice. */
export async function confirmLink(
  { identity, purpose, userId, label }: LinkProposal,
  request: FastifyRequest,
  { identities, ownIdentities }: Pick<ForeignSignInDeps, 'identities' | 'ownIdentities'>
): Promise<ConfirmedLink> {
  const note: AuditNote = {
    event: 'identity_linked',
    requestId: request.id,
    traceId: request.trustedTrace?.traceId,
    clientId: undefined,
    userId,
    address: request.ip,
    details: { ...identity, label, reason: purpose.kind }
  }
  const { signedIn } = request
  const isChanged =
    purpose.kind === 'link'
      ? signedIn !== undefined && (await ownIdentities.link(signedIn, identity, note))
      : (await ownIdentities.redeemInvitation(purpose.tokenHash, identity, note)) !== undefined
  if (isChanged) {
    const { event, address, details } = note
    request.log.info({ event, userId, address, ...details }, 'identity linked')
  }
  // The user is also found if a parallel request has linked the identity.
  const user = await identities.findUser(identity)
  if (user === undefined) return { kind: 'refused', reason: 'link_over' }
  return user.userId === userId && !user.disabled
    ? { kind: 'linked', user }
    : { kind: 'refused', reason: 'linked_elsewhere' }
}
