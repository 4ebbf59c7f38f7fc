import { type Database, defineStatement } from '@valetkey/service-kit'
import { AUTHORIZED, BY_GENERATIONS } from '../../storage/postgres/authorization-generation.js'
import { GRANT_EXPIRES_AT } from '../../storage/postgres/grant-expires-at.js'

/**
 * Locks the grants in the order of their codes, as every statement that locks several grants. What they have as other ends follows,
 * so that lists, housekeeping and refreshes need not look at `ends_at`.
 */
const shorten = defineStatement(
  'shorten_access',
  `with locked as (
    select g.grant_id from grants g ${BY_GENERATIONS}
    where ${AUTHORIZED} and g.user_id = :userId and g.client_id = :clientId and g.redeemed_at is not null
      and g.ended_at is null and ${GRANT_EXPIRES_AT} > now() and (g.ends_at is null or g.ends_at > :endsAt::timestamptz)
      and greatest(g.expires_at, g.extended_until, g.refreshable_until) > :endsAt::timestamptz
    order by g.code_hash for no key update of g
  ), remembered as (
    update consents set ends_at = :endsAt::timestamptz
    where user_id = :userId and client_id = :clientId and (ends_at is null or ends_at > :endsAt::timestamptz)
  )
  update grants g set ends_at = least(g.ends_at, :endsAt::timestamptz), expires_at = least(g.expires_at, :endsAt::timestamptz),
    extended_until = case when g.extended_until is not null then least(g.extended_until, :endsAt::timestamptz) end,
    refreshable_until = case when g.refreshable_until is not null then least(g.refreshable_until, :endsAt::timestamptz) end
  from locked where g.grant_id = locked.grant_id
  returning g.grant_id`
)

/** Ends of access that users have chosen. */
export function createAccessEndStore(database: Database) {
  return {
    /**
     * Makes the end of all access of a client earlier, in one write: of the user's grants, and of the remembered consents. An earlier
     * end stays. A token that would last longer has ended then.
     * @returns the grants whose end is earlier now
     */
    async shorten(userId: string, clientId: string, endsAt: Date): Promise<readonly string[]> {
      const rows = await database.query<{ grant_id: string }>(shorten({ userId, clientId, endsAt }))
      return rows.map(({ grant_id }) => grant_id)
    }
  }
}

export type AccessEndStore = ReturnType<typeof createAccessEndStore>
