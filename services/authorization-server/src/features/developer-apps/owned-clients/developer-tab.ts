import type { FastifyInstance } from 'fastify'
import type { OwnedClientStore } from './owned-client-store.js'

/** So long no look-up follows one that found no client with owners. */
const UNUSED_FOR_MS = 60_000

/**
 * Shows the tab "Developer" only to owners of clients: other users cannot register apps. While no client has an owner, at most one
 * statement in a minute, so the tab can appear a minute late after the first owner was named.
 * @param monotonicNow milliseconds, of a clock that is never set
 */
export function showDeveloperTab(
  account: FastifyInstance,
  { issuer, ownedClients }: { issuer: string; ownedClients: Pick<OwnedClientStore, 'usage'> },
  monotonicNow: () => number = () => performance.now()
): void {
  let unusedUntil = Number.NEGATIVE_INFINITY
  account.addHook('preHandler', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined || monotonicNow() < unusedUntil) return
    const { isOwner, isUsed } = await ownedClients.usage(user.userId)
    if (!isUsed) unusedUntil = monotonicNow() + UNUSED_FOR_MS
    if (isOwner) reply.locals = { ...reply.locals, developerPages: `${issuer}/account/developer` }
  })
}
