import type { Database } from '@valetkey/service-kit'
import { noteUseIn } from './note-use.js'

/** What one client may do with a user's account, over all of its grants. */
export type ConnectedApp = {
  clientId: string
  name: string
  verified: boolean
  scope: readonly string[]
  since: Date
  lastUsedAt: Date | undefined
  /** It holds a token that has not ended, or can get one by itself. */
  live: boolean
  /** Until when it can get new access tokens without the user; undefined when it cannot. */
  refreshableUntil: Date | undefined
}

type ConnectedAppRow = {
  client_id: string
  name: string
  verified: boolean
  scope: string[]
  since: Date
  last_used_at: Date | null
  live: boolean
  refreshable_until: Date | null
}

/** Whoever locks several grants does so in the order of their ids, so that no two wait for each other. */
const lockInOrder = (condition: string) => `select grant_id from grants where ${condition} order by grant_id for update`

export function createConnectedAppStore(database: Database) {
  return {
    /**
     * Grants with a token that is alive, and consents that count (`remembersConsent`): both give access without asking
     * again.
     */
    async list(userId: string, now: Date): Promise<ConnectedApp[]> {
      const rows = await database.query<ConnectedAppRow>({
        name: 'list_connected_apps',
        text: `with held as (
            select g.client_id, g.scope, g.created_at as since, g.last_used_at, true as live, g.refreshable_until
            from grants g
            join users u on u.user_id = g.user_id and u.generation = g.user_generation
            join clients c on c.client_id = g.client_id and c.generation = g.client_generation
            where g.user_id = $1 and g.redeemed_at is not null and g.ended_at is null and g.expires_at > $2
            union all
            select r.client_id, r.scope, r.granted_at, null, false, null
            from consents r
            join clients c on c.client_id = r.client_id and c.consent = 'remember' and c.type = 'confidential'
            where r.user_id = $1
          )
          select c.client_id, c.name, c.verified_at is not null as verified,
            array(select distinct unnest(h.scope) from held h where h.client_id = c.client_id order by 1) as scope,
            min(held.since) as since, max(held.last_used_at) as last_used_at, bool_or(held.live) as live,
            max(held.refreshable_until) as refreshable_until
          from held join clients c on c.client_id = held.client_id and c.disabled_at is null
          group by c.client_id, c.name, c.verified_at
          order by c.name, c.client_id`,
        values: [userId, now]
      })
      return rows.map((row) => ({
        clientId: row.client_id,
        name: row.name,
        verified: row.verified,
        scope: row.scope,
        since: row.since,
        lastUsedAt: row.last_used_at ?? undefined,
        live: row.live,
        refreshableUntil: row.refreshable_until ?? undefined
      }))
    },

    /** Ends every grant of this user to this client, those not yet redeemed included, and forgets the consent. */
    async end(userId: string, clientId: string, now: Date): Promise<{ grantIds: readonly string[] }> {
      const rows = await database.query<{ grant_id: string }>({
        name: 'end_connected_app',
        text: `with forgotten as (delete from consents where user_id = $1 and client_id = $2),
          held as (${lockInOrder('user_id = $1 and client_id = $2 and ended_at is null')})
          update grants g set ended_at = $3 from held where g.grant_id = held.grant_id returning g.grant_id`,
        values: [userId, clientId, now]
      })
      return { grantIds: rows.map((row) => row.grant_id) }
    },

    /** Notes when grants were last used; an older time than the one stored changes nothing. */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      await database.query(noteUseIn({ name: 'note_grant_use', table: 'grants', key: 'grant_id', type: 'uuid' }, uses))
    }
  }
}

export type ConnectedAppStore = ReturnType<typeof createConnectedAppStore>
