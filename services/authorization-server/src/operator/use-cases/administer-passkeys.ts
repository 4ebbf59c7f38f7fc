import type { Passkey, PasskeyStore } from '../../storage/postgres/passkeys.js'
import type { User } from '../../storage/postgres/users.js'
import type { Author } from './actor.js'
import { recordChange } from './record-change.js'

type PasskeyAdministration = { passkeys: Pick<PasskeyStore, 'list' | 'removeAll'> }

/** Removes all passkeys of a user and ends their sessions. @returns the number that existed; 0: nothing was changed */
export async function removePasskeys(
  { userId, username }: Pick<User, 'userId' | 'username'>,
  author: Author,
  { passkeys }: PasskeyAdministration
): Promise<number> {
  const { length } = await passkeys.list(userId)
  const event = { event: 'user_passkeys_removed', userId, details: { username } } as const
  const changed = await recordChange(event, author, (note) => passkeys.removeAll(userId, note))
  return changed === undefined ? 0 : length
}

export function passkeyDocument({ passkeyId, name, synced, createdAt, lastUsedAt }: Passkey) {
  return {
    passkey_id: passkeyId,
    name,
    synced,
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null
  }
}
