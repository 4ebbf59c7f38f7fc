import type { Database } from '@valetkey/service-kit'

/** Inserts a user without an audit entry. */
export async function insertUser(
  database: Database,
  user: { userId: string; username: string; passwordHash: string; createdAt: Date }
): Promise<void> {
  await database.query({
    name: 'test_insert_user',
    text: 'insert into users (user_id, username, password_hash, created_at) values ($1, $2, $3, $4)',
    values: [user.userId, user.username, user.passwordHash, user.createdAt]
  })
}
