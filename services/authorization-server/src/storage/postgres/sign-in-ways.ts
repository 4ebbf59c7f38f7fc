import type { Database } from '@valetkey/service-kit'
import type { UsableWays } from '@valetkey/sign-in-rules'

/** The ways in which users of this service can sign in. Others of a user do not count. */
export type ConfiguredWays = {
  password: boolean
  passkeys: boolean
  /** The issuers of the providers and of the login page. */
  issuers: readonly string[]
}

export function createSignInWayStore(database: Database) {
  return {
    /** The ways in which the user can sign in. */
    async find(userId: string, { password, passkeys, issuers }: ConfiguredWays): Promise<UsableWays> {
      const [row] = await database.query<{ has_password: boolean; passkeys: number; identities: number }>({
        name: 'find_sign_in_ways',
        text: `select password_hash is not null as has_password,
            (select count(*)::integer from passkeys where user_id = $1) as passkeys,
            (select count(*)::integer from identities where user_id = $1 and issuer = any ($2::text[])) as identities
          from users where user_id = $1`,
        values: [userId, issuers]
      })
      return {
        hasPassword: password && (row?.has_password ?? false),
        passkeys: passkeys ? (row?.passkeys ?? 0) : 0,
        identities: row?.identities ?? 0
      }
    }
  }
}

export type SignInWayStore = ReturnType<typeof createSignInWayStore>
