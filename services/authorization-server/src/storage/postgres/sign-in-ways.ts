import type { Database } from '@valetkey/service-kit'
import type { UsableWays } from '@valetkey/sign-in-rules'

export function createSignInWayStore(database: Database) {
  return {
    /**
     * The ways in which the user can sign in.
     * @param issuers of the configured providers and of the login page: an identity of another issuer does not count
     */
    async find(userId: string, issuers: readonly string[]): Promise<UsableWays> {
      const rows = await database.query<{ has_password: boolean; passkeys: number; identities: number }>({
        name: 'find_sign_in_ways',
        text: `select password_hash is not null as has_password,
            (select count(*)::integer from passkeys where user_id = $1) as passkeys,
            (select count(*)::integer from identities where user_id = $1 and issuer = any ($2::text[])) as identities
          from users where user_id = $1`,
        values: [userId, issuers]
      })
      const [row] = rows
      return {
        hasPassword: row?.has_password ?? false,
        passkeys: row?.passkeys ?? 0,
        identities: row?.identities ?? 0
      }
    }
  }
}

export type SignInWayStore = ReturnType<typeof createSignInWayStore>
