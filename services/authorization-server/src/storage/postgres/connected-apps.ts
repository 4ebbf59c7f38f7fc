import { type Database, defineStatement } from '@valetkey/service-kit'
import type { AuthorizationDetail } from '../redis/code-record.js'
import {
  AUTHORIZED,
  BY_GENERATIONS,
  RAISE_OF_PAIR,
  REMEMBERED_BY,
  STILL_REMEMBERED
} from './authorization-generation.js'
import { chosenOf } from './chosen.js'
import { BRANDING_COLUMNS, type BrandingRow, type ClientBranding, toBranding } from './client-branding.js'
import { GRANT_EXPIRES_AT } from './grant-expires-at.js'
import { noteUseIn } from './note-use.js'
import { remainingScope } from './remaining-scope.js'

/** The access of one client to a user's account, from all of its grants. */
export type ConnectedApp = {
  clientId: string
  name: string
  verified: boolean
  branding: ClientBranding
  scope: readonly string[]
  /** Resource identifiers of the APIs that it has access to. */
  audiences: readonly string[]
  since: Date
  lastUsedAt: Date | undefined
  /** It has a valid token, or can get one without the user. */
  live: boolean
  /** The time until which it can get new access tokens without the user; undefined if it cannot. */
  refreshableUntil: Date | undefined
  /** When all of its access ends; undefined: the user chose no end for a part of it. */
  endsAt: Date | undefined
  /** What the user chose for it, each choice once, with its API. */
  chosen: readonly (AuthorizationDetail & { audience: string })[]
}

type ConnectedAppRow = BrandingRow & {
  client_id: string
  name: string
  verified: boolean
  scope: string[]
  audiences: string[]
  since: Date
  last_used_at: Date | null
  live: boolean
  refreshable_until: Date | null
  ends_at: Date | null
  chosen: ConnectedApp['chosen']
}

export function createConnectedAppStore(database: Database) {
  return { ...listApps(database), ...changeApps(database) }
}

export type ConnectedAppStore = ReturnType<typeof createConnectedAppStore>

function listApps(database: Database) {
  return {
    /**
     * Grants with a valid token and a scope left, and valid remembered consents (`remembersConsent`): both give access without asking the user
     * again.
     */
    async list(userId: string): Promise<ConnectedApp[]> {
      const rows = await database.query<ConnectedAppRow>({
        name: 'list_connected_apps',
        text: `with access as (
            select g.client_id, g.audience, remaining.scope, g.created_at as since, g.last_used_at, true as live, g.refreshable_until,
              g.ends_at, ${chosenOf('g')} as details
            from grants g
            ${BY_GENERATIONS}
            ${remainingScope('g')}
            where ${AUTHORIZED} and remaining.scope is not null and g.user_id = $1 and g.redeemed_at is not null and g.ended_at is null
              and ${GRANT_EXPIRES_AT} > now()
            union all
            select r.client_id, r.audience, remaining.scope, r.granted_at, null, false, null, r.ends_at, null
            from consents r ${REMEMBERED_BY} ${remainingScope('r')}
            where remaining.scope is not null and r.user_id = $1 and c.consent = 'remember' and c.type = 'confidential' and ${STILL_REMEMBERED}
          )
          select c.client_id, c.name, c.verified_at is not null as verified, ${BRANDING_COLUMNS},
            array(select distinct unnest(h.scope) from access h where h.client_id = c.client_id order by 1) as scope,
            array_agg(distinct access.audience) as audiences,
            min(access.since) as since, max(access.last_used_at) as last_used_at, bool_or(access.live) as live,
            max(access.refreshable_until) as refreshable_until,
            nullif(max(coalesce(access.ends_at, 'infinity')), 'infinity') as ends_at,
            array(select distinct on (a.audience, d.detail ->> 'type', d.detail ->> 'identifier')
                jsonb_build_object('audience', a.audience) || d.detail
              from access a cross join lateral jsonb_array_elements(a.details) as d (detail) where a.client_id = c.client_id
              order by a.audience, d.detail ->> 'type', d.detail ->> 'identifier', a.since desc) as chosen
          from access join clients c on c.client_id = access.client_id and c.disabled_at is null
          group by c.client_id
          order by c.name, c.client_id`,
        values: [userId]
      })
      return rows.map((row) => ({
        clientId: row.client_id,
        name: row.name,
        verified: row.verified,
        branding: toBranding(row),
        scope: row.scope,
        audiences: row.audiences,
        since: row.since,
        lastUsedAt: row.last_used_at ?? undefined,
        live: row.live,
        refreshableUntil: row.refreshable_until ?? undefined,
        endsAt: row.ends_at ?? undefined,
        chosen: row.chosen
      }))
    },

    /**
     * The name of a client that the user allowed, whether its access has ended or not. It is forgotten when housekeeping deletes the
     * last grant.
     * @returns undefined if the user never allowed it, so that a client id reveals no name
     */
    async findNameOfAllowed(userId: string, clientId: string): Promise<string | undefined> {
      const [row] = await database.query<{ name: string }>(nameOfAllowed({ userId, clientId }))
      return row?.name
    }
  }
}

const nameOfAllowed = defineStatement(
  'find_name_of_allowed',
  `select c.name from clients c
  where c.client_id = :clientId
    and (exists (select from grants g where g.user_id = :userId and g.client_id = c.client_id and g.redeemed_at is not null)
      or exists (select from consents r where r.user_id = :userId and r.client_id = c.client_id))`
)

const endApp = defineStatement(
  'end_connected_app',
  `with raised as (${RAISE_OF_PAIR})
  select g.grant_id from grants g
  ${BY_GENERATIONS}
  where ${AUTHORIZED} and g.user_id = :userId and g.client_id = :clientId and g.ended_at is null
    and ${GRANT_EXPIRES_AT} > now()`
)

function changeApps(database: Database) {
  return {
    /**
     * Ends the user's authorization of the client, in one write: every grant, codes that are not exchanged yet, and the
     * remembered consent. A grant that is created concurrently has an older generation, so it has ended as well.
     * @returns the grants that gave access until now
     */
    async end(userId: string, clientId: string): Promise<{ grantIds: readonly string[] }> {
      const rows = await database.query<{ grant_id: string }>(endApp({ userId, clientId }))
      return { grantIds: rows.map((row) => row.grant_id) }
    },

    /** Stores when grants were last used, unless the stored time is less than a minute older. */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      const grants = {
        name: 'note_grant_use',
        table: 'grants',
        key: 'grant_id',
        type: 'uuid',
        order: 'code_hash',
        // A refresh or another process may have stored a use since an introspection found the stored one old.
        apart: '1 minute'
      } as const
      await database.query(noteUseIn(grants, uses))
    }
  }
}
