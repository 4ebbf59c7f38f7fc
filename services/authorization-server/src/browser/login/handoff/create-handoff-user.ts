import { randomBytes, randomUUID } from 'node:crypto'
import { type HandoffClaims, usernameCandidates } from '@valetkey/sign-in-rules'
import type { FastifyRequest } from 'fastify'
import type { IdentityKey, IdentityStore } from '../../../storage/postgres/identities.js'
import type { User } from '../../../storage/postgres/users.js'

const RANDOM_NAMES = 3

/** Creates the user of an identity that is linked to no user (`LOGIN_HANDOFF_PROVISIONING=create`). */
export async function createHandoffUser(
  { displayName }: HandoffClaims,
  identity: IdentityKey,
  request: FastifyRequest,
  identities: Pick<IdentityStore, 'createUser' | 'findUser'>
): Promise<User | undefined> {
  const suffixes = Array.from({ length: RANDOM_NAMES }, () => randomBytes(4).toString('hex'))
  for (const username of usernameCandidates(displayName, suffixes)) {
    const userId = randomUUID()
    const details = { username, ...identity }
    const note = {
      event: 'user_created',
      requestId: request.id,
      clientId: undefined,
      userId,
      address: request.ip,
      details
    }
    const created = await identities.createUser({ userId, username, displayName }, identity, note)
    if (created !== undefined) {
      request.log.info({ event: 'user_created', userId, address: request.ip, ...details }, 'user created')
      return created
    }
    // The name is taken, or a parallel request has created the user.
    const linked = await identities.findUser(identity)
    if (linked !== undefined) return linked
  }
  return undefined
}
