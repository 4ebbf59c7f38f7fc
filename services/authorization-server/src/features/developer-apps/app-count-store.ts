import type { Database } from '@valetkey/service-kit'
import { AUTHORIZED, BY_GENERATIONS } from '../../storage/postgres/authorization-generation.js'
import { GRANT_EXPIRES_AT } from '../../storage/postgres/grant-expires-at.js'
import { remainingScope } from '../../storage/postgres/remaining-scope.js'

/** What an owner has used up of the limits. */
type AppCounts = { apps: number; today: number; waiting: number }

/** Nothing is decided about a disabled app. */
export const WAITS = 'a.requested_at is not null and c.disabled_at is null'

/** More would take longer than a statement of a request may: the page of the app would be an error page. */
const MOST_GRANTS_READ = 10_000

/** In a list of up to 20 apps. */
const MOST_GRANTS_OF_LISTED = 500

export type UserCount = { count: number; isAtLeast: boolean }

/** A part of the store of apps. */
export function countApps(database: Database) {
  return {
    /** How many users have given it access that is still valid, by 10,000 of its grants at most. */
    async countUsers(clientId: string): Promise<number> {
      const rows = await database.query<{ count: number }>({
        name: 'count_users_of_app',
        text: `with g as materialized (
            select g.user_id, g.client_id, g.user_generation, g.client_generation, g.authorization_generation,
              g.scope, g.newest_scope, g.audience
            from grants g
            where g.client_id = $1 and g.redeemed_at is not null and g.ended_at is null and ${GRANT_EXPIRES_AT} > now()
            limit ${MOST_GRANTS_READ})
          select count(distinct g.user_id)::integer as count from g ${BY_GENERATIONS} ${remainingScope('g')}
          where ${AUTHORIZED} and remaining.scope is not null`,
        values: [clientId]
      })
      return rows[0]?.count ?? 0
    },

    /**
     * As `countUsers`, for each app of a list, by 500 of its grants at most.
     * The order is that of an index, so that no plan reads the grants of other apps.
     * @returns by client id; `isAtLeast`: the app has more grants than were read
     */
    async countUsersOfEach(clientIds: readonly string[]): Promise<ReadonlyMap<string, UserCount>> {
      const rows = await database.query<{ client_id: string; count: number; is_at_least: boolean }>({
        name: 'count_users_of_apps',
        text: `select app.client_id, counted.count, counted.is_at_least
          from unnest($1::text[]) as app (client_id) cross join lateral (
            with g as materialized (
              select g.user_id, g.client_id, g.user_generation, g.client_generation, g.authorization_generation,
                g.scope, g.newest_scope, g.audience
              from grants g
              where g.client_id = app.client_id and g.redeemed_at is not null and g.ended_at is null
                and ${GRANT_EXPIRES_AT} > now()
              order by g.audience limit ${MOST_GRANTS_OF_LISTED})
            select count(distinct g.user_id)::integer as count,
              (select count(*) from g) = ${MOST_GRANTS_OF_LISTED} as is_at_least
            from g ${BY_GENERATIONS} ${remainingScope('g')}
            where ${AUTHORIZED} and remaining.scope is not null) as counted`,
        values: [clientIds]
      })
      return new Map(rows.map((row) => [row.client_id, { count: row.count, isAtLeast: row.is_at_least }]))
    },

    /** How many apps or changes wait for operators. */
    async countWaiting(): Promise<number> {
      const rows = await database.query<{ count: number }>({
        name: 'count_waiting_apps',
        text: `select count(*)::integer as count from developer_apps a join clients c using (client_id) where ${WAITS}`,
        values: []
      })
      return rows[0]?.count ?? 0
    },

    async countOf(userId: string): Promise<AppCounts> {
      const rows = await database.query<AppCounts>({
        name: 'count_apps_of_user',
        text: `select
            (select count(*)::integer from developer_apps where created_by = $1) as apps,
            coalesce((select count from app_registrations
              where user_id = $1 and day = (now() at time zone 'utc')::date), 0) as today,
            waiting_apps($1)::integer as waiting`,
        values: [userId]
      })
      return rows[0] ?? { apps: 0, today: 0, waiting: 0 }
    }
  }
}
