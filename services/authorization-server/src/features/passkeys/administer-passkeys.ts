import type { Author } from '../../operator/use-cases/actor.js'
import { findUser } from '../../operator/use-cases/administer-users.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import type { UserStore } from '../../storage/postgres/users.js'
import type { Passkey, PasskeyStore } from './passkey-store.js'

export type PasskeyAdministration = {
  passkeys: Pick<PasskeyStore, 'list' | 'removeAll'>
  users: Pick<UserStore, 'findById'>
}

/** The passkeys of a user, the oldest first. */
export async function listPasskeys(userId: string, deps: PasskeyAdministration): Promise<readonly Passkey[]> {
  await findUser(userId, deps)
  return deps.passkeys.list(userId)
}

/** Removes all passkeys of a user and ends all their sessions. Idempotent. @returns the number of removed passkeys */
export async function removePasskeys(userId: string, author: Author, deps: PasskeyAdministration): Promise<number> {
  const { username } = await findUser(userId, deps)
  const event = { event: 'user_passkeys_removed', userId, details: { username } } as const
  return (await recordChange(event, author, (note) => deps.passkeys.removeAll(userId, note))) ?? 0
}

export function passkeyDocument({ passkeyId, name, synced, createdAt, lastUsedAt }: Passkey) {
  return {
    passkey_id: passkeyId,
    name,
    synced,
    created_at: createdAt.toISOString(),
    ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt.toISOString() })
  }
}
