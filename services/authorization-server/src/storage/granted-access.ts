import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited } from './audited.js'

/** A grant that gives access at this moment, as operators see it. */
export type GrantedAccess = {
  grantId: string
  userId: string
  username: string
  clientId: string
  clientName: string
  scope: readonly string[]
  audience: string
  createdAt: Date
  lastUsedAt: Date | undefined
  /** Until when the client can get new access tokens; undefined when it cannot. */
  refreshableUntil: Date | undefined
  expiresAt: Date
}

/** Whose grants, and to whom; all of them where neither is said. */
export type GrantFilter = { userId?: string | undefined; clientId?: string | undefined }

/** Where a grant stands in the list. */
export type GrantPlace = Pick<GrantedAccess, 'userId' | 'clientId' | 'grantId'>

type GrantRow = {
  grant_id: string
  user_id: string
  username: string
  client_id: string
  client_name: string
  scope: string[]
  audience: string
  created_at: Date
  last_used_at: Date | null
  refreshable_until: Date | null
  expires_at: Date
}

/** Each of them tells the feed; these take well under a second. */
const ENDED_AT_ONCE = 10_000

/** Those that have not ended by a generation (ADR 0005). */
const ALIVE = `join users u on u.user_id = g.user_id and u.generation = g.user_generation
  join clients c on c.client_id = g.client_id and c.generation = g.client_generation`

/** The grants of all users and clients, for operators. People see their own by way of connected apps. */
export function createGrantedAccessStore(database: Database) {
  return {
    /** By user, then by client: the order of the index over both. */
    async list(
      filter: GrantFilter,
      { after, limit }: { after?: GrantPlace | undefined; limit: number },
      now: Date
    ): Promise<GrantedAccess[]> {
      const { conditions, values, name } = conditionsOf(filter, after)
      const rows = await database.query<GrantRow>({
        name: `list_grants${name}`,
        text: `select g.grant_id, g.user_id, u.username, g.client_id, c.name as client_name, g.scope, g.audience,
            g.created_at, g.last_used_at, g.refreshable_until, g.expires_at
          from grants g
          ${ALIVE}
          where g.redeemed_at is not null and g.ended_at is null and g.expires_at > $1 ${conditions}
          order by g.user_id, g.client_id, g.grant_id limit $2`,
        values: [now, limit, ...values]
      })
      return rows.map(toGrantedAccess)
    },

    async find(grantId: string): Promise<{ userId: string; clientId: string } | undefined> {
      const rows = await database.query<{ user_id: string; client_id: string }>({
        name: 'find_owner_of_grant',
        text: 'select user_id, client_id from grants where grant_id = $1',
        values: [grantId]
      })
      return rows.map((row) => ({ userId: row.user_id, clientId: row.client_id }))[0]
    },

    /** @returns false when it had ended before */
    async end(grantId: string, now: Date, note: AuditNote): Promise<boolean> {
      const change = {
        name: 'revoke_grant',
        parts: `changed as (
          update grants set ended_at = $2 where grant_id = $1 and ended_at is null returning grant_id)`,
        result: 'select grant_id from changed',
        values: [grantId, now]
      }
      return (await database.query(audited(change, note))).length > 0
    },

    /**
     * Ends grants of a user, those not yet redeemed included, to one client or to all, and forgets the consents: at most
     * `ENDED_AT_ONCE`, so that however many there are, no statement takes long.
     * @returns how many grants ended; undefined when nothing was changed. `again`: another call may find more, for these
     *   were as many as one takes, or somebody else was ending them, or one was opened by a consent that is forgotten now
     */
    async endOfUser(
      { userId, clientId }: { userId: string; clientId: string | undefined },
      now: Date,
      note: AuditNote
    ): Promise<{ ended: number | undefined; again: boolean }> {
      const toClient = clientId === undefined ? '' : 'and client_id = $3'
      const change = {
        name: clientId === undefined ? 'revoke_grants_of_user' : 'revoke_grants_of_user_to_client',
        // Whoever locks several grants does so in the order of their ids, so that no two wait for each other.
        parts: `forgotten as (delete from consents where user_id = $1 ${toClient} returning user_id),
          alive as materialized (
            select g.grant_id from grants g ${ALIVE}
            where g.user_id = $1 ${toClient && 'and g.client_id = $3'} and g.ended_at is null and g.expires_at > $2
            limit ${ENDED_AT_ONCE}),
          held as (
            select g.grant_id from alive join grants g on g.grant_id = alive.grant_id and g.ended_at is null
            order by g.grant_id for update of g),
          ended as (
            update grants g set ended_at = $2 from held where g.grant_id = held.grant_id returning g.grant_id),
          changed as (select 1 as one from ended union all select 1 from forgotten)`,
        result: `select (select count(*) from ended)::integer as ended, exists (select 1 from changed) as changed,
          exists (select 1 from alive) or exists (select 1 from forgotten) as again`,
        values: [userId, now, ...(clientId === undefined ? [] : [clientId])]
      }
      const rows = await database.query<{ ended: number; changed: boolean; again: boolean }>(audited(change, note))
      const { ended, changed, again } = rows[0] ?? { ended: 0, changed: false, again: false }
      return { ended: changed ? ended : undefined, again }
    },

    /**
     * Ends all grants to a client, however many there are, by its generation.
     * @returns false when there is no such client
     */
    async endToClient(clientId: string, note: AuditNote): Promise<boolean> {
      const change = {
        name: 'revoke_grants_to_client',
        parts: `changed as (
            update clients set generation = generation + 1 where client_id = $1 returning client_id)`,
        result: 'select client_id from changed',
        values: [clientId]
      }
      return (await database.query(audited(change, note))).length > 0
    }
  }
}

export type GrantedAccessStore = ReturnType<typeof createGrantedAccessStore>

/** A statement for each kind of question, so that each goes by an index. */
function conditionsOf({ userId, clientId }: GrantFilter, after: GrantPlace | undefined) {
  const values: unknown[] = []
  const place = (value: unknown): string => `$${values.push(value) + 2}`
  const conditions = [
    userId === undefined ? '' : `and g.user_id = ${place(userId)}`,
    clientId === undefined ? '' : `and g.client_id = ${place(clientId)}`,
    after === undefined
      ? ''
      : `and (g.user_id, g.client_id, g.grant_id) > (${place(after.userId)}, ${place(after.clientId)}, ${place(after.grantId)})`
  ]
  const name = [userId && '_of_user', clientId && '_to_client', after && '_after'].filter(Boolean).join('')
  return { conditions: conditions.join(' '), values, name }
}

function toGrantedAccess(row: GrantRow): GrantedAccess {
  return {
    grantId: row.grant_id,
    userId: row.user_id,
    username: row.username,
    clientId: row.client_id,
    clientName: row.client_name,
    scope: row.scope,
    audience: row.audience,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    refreshableUntil: row.refreshable_until ?? undefined,
    expiresAt: row.expires_at
  }
}
