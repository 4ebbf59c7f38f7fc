import { randomBytes, randomUUID } from 'node:crypto'
import { usernameCandidates } from '@valetkey/sign-in-rules'
import type { FastifyRequest } from 'fastify'
import type { User } from '../../../storage/postgres/users.js'
import type { IdentityKey, IdentityStore } from './identity-store.js'

export type NewUser = {
  /** The text from which the user name is made, as the provider or login page gave it. */
  username: unknown
  displayName: string | undefined
  /** Id of the provider, or `handoff`. */
  way: string
}

const RANDOM_NAMES = 3

/**
 * Creates the user of an identity that is linked to no user. A user with the same name or e-mail address is never linked: that
 * could be an attacker who made the account first.
 * @returns the user; also the one that a concurrent sign-in of the same identity created
 */
export async function createUserOf(
  identity: IdentityKey,
  { username: given, displayName, way }: NewUser,
  request: FastifyRequest,
  identities: Pick<IdentityStore, 'createUser' | 'findUser'>
): Promise<User | undefined> {
  const suffixes = Array.from({ length: RANDOM_NAMES }, () => randomBytes(4).toString('hex'))
  const { id: requestId, ip: address } = request
  const traceId = request.trustedTrace?.traceId
  for (const username of usernameCandidates(given, suffixes)) {
    const userId = randomUUID()
    const details = { username, actor: { kind: 'provider', name: way } }
    const note = { event: 'user_created', requestId, traceId, clientId: undefined, userId, address, details }
    const created = await identities.createUser({ userId, username, displayName }, identity, note)
    if (created !== undefined) {
      request.log.info({ event: 'user_created', userId, address, ...details }, 'user created')
      return created
    }
    // Either the name is taken, or a concurrent sign-in has created the user.
    const existing = await identities.findUser(identity)
    if (existing !== undefined) return existing
  }
  return undefined
}
