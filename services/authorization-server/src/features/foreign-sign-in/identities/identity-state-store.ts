import type { Database } from '@valetkey/service-kit'

/** What `doctor` checks of users and their identities. */
export type IdentityState = {
  users: number
  /** Enabled users without an identity of a configured issuer. */
  withoutIdentity: number
  /** Issuers that are not configured, with the number of their identities. */
  otherIssuers: readonly { issuer: string; count: number }[]
}

/** @param issuers of the configured providers and login page */
export async function readIdentityState(database: Database, issuers: readonly string[]): Promise<IdentityState> {
  const [counts] = await database.query<{ users: number; without_identity: number }>({
    name: 'count_users_without_identity',
    text: `select count(*)::int as users, count(*) filter (where not exists (
        select from identities i where i.user_id = u.user_id and i.issuer = any($1::text[])))::int as without_identity
      from users u where disabled_at is null`,
    values: [issuers]
  })
  const otherIssuers = await database.query<{ issuer: string; count: number }>({
    name: 'count_identities_of_other_issuers',
    text: `select issuer, count(*)::int as count from identities where not issuer = any($1::text[])
      group by issuer order by issuer`,
    values: [issuers]
  })
  return { users: counts?.users ?? 0, withoutIdentity: counts?.without_identity ?? 0, otherIssuers }
}
