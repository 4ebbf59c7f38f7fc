import type { Database } from '@valetkey/service-kit'
import { userNameKey } from '@valetkey/sign-in-rules'

/** Inserts a user without an audit entry. */
export async function insertUser(
  database: Database,
  user: { userId: string; username: string; passwordHash: string; createdAt: Date }
): Promise<void> {
  await database.query({
    name: 'test_insert_user',
    text: 'insert into users (user_id, username, password_hash, created_at, name_key) values ($1, $2, $3, $4, $5)',
    values: [user.userId, user.username, user.passwordHash, user.createdAt, userNameKey(user.username)]
  })
}
