import type { Database } from '@valetkey/service-kit'
import { canonicalName, userNameKey } from '@valetkey/sign-in-rules'

/** Inserts a user without an audit entry. */
export async function insertUser(
  database: Database,
  user: { userId: string; username: string; passwordHash: string; createdAt: Date }
): Promise<void> {
  await database.query({
    name: 'test_insert_user',
    text: `insert into users (user_id, username, canonical_name, name_key, password_hash, created_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [
      user.userId,
      user.username,
      canonicalName(user.username),
      userNameKey(user.username),
      user.passwordHash,
      user.createdAt
    ]
  })
}
