import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from './audited.js'
import {
  AUTHORIZED,
  BY_GENERATIONS,
  RAISE_OF_PAIR,
  RAISE_OF_USER,
  REMEMBERED_BY,
  STILL_REMEMBERED
} from './authorization-generation.js'
import { defineFiltered } from './filtered-statement.js'
import { GRANT_EXPIRES_AT } from './grant-expires-at.js'
import { remainingScope } from './remaining-scope.js'

/** A grant that gives access now, as operators see it. */
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
  /** The time until which the client can get new access tokens; undefined if it cannot. */
  refreshableUntil: Date | undefined
  expiresAt: Date
}

/** Grants by this user, to this client, for the API with this audience; an omitted field matches all. */
export type GrantFilter = WhoseGrants & { audience?: string | undefined }

/** Grants by this user, to this client, or both. */
export type WhoseGrants = { userId?: string | undefined; clientId?: string | undefined }

/** The position of a grant in the list. */
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

/** The grants of all users and clients, for operators. Users see their own in `connected-apps.ts`. */
export function createGrantedAccessStore(database: Database) {
  return { ...findGrants(database), ...endGrants(database) }
}

export type GrantedAccessStore = ReturnType<typeof createGrantedAccessStore>

const listGrants = defineFiltered(
  'list_grants',
  [
    { parameter: 'userId', name: 'of_user', text: 'g.user_id = :userId' },
    { parameter: 'clientId', name: 'to_client', text: 'g.client_id = :clientId' },
    // The index has the client first. Most clients have grants for one API only.
    {
      parameter: 'audience',
      name: 'at',
      text: 'g.client_id = any(array(select client_id from clients)) and g.audience = :audience'
    },
    {
      parameter: 'afterGrantId',
      name: 'after',
      text: '(g.user_id, g.client_id, g.grant_id) > (:afterUserId, :afterClientId, :afterGrantId)'
    }
  ],
  (
    conditions
  ) => `select g.grant_id, g.user_id, u.username, g.client_id, c.name as client_name, remaining.scope, g.audience,
      g.created_at, g.last_used_at, g.refreshable_until, ${GRANT_EXPIRES_AT} as expires_at
    from grants g
    ${BY_GENERATIONS}
    ${remainingScope('g')}
    where ${AUTHORIZED} and remaining.scope is not null and g.redeemed_at is not null and g.ended_at is null
      and ${GRANT_EXPIRES_AT} > now() ${conditions}
    order by g.user_id, g.client_id, g.grant_id limit :limit`
)

function findGrants(database: Database) {
  return {
    /** Lists access by user, then by client, in the order of the index. */
    async list(
      { userId, clientId, audience }: GrantFilter,
      { after, limit }: { after?: GrantPlace | undefined; limit: number }
    ): Promise<GrantedAccess[]> {
      const place = { afterUserId: after?.userId, afterClientId: after?.clientId, afterGrantId: after?.grantId }
      const statement = listGrants({ userId, clientId, audience, ...place, limit })
      return (await database.query<GrantRow>(statement)).map(toGrantedAccess)
    },

    async find(grantId: string): Promise<{ userId: string; clientId: string } | undefined> {
      const rows = await database.query<{ user_id: string; client_id: string }>({
        name: 'find_owner_of_grant',
        text: 'select user_id, client_id from grants where grant_id = $1',
        values: [grantId]
      })
      return rows.map((row) => ({ userId: row.user_id, clientId: row.client_id }))[0]
    }
  }
}

const revokeGrant = defineChange(
  'revoke_grant',
  `changed as (
    update grants set ended_at = now() where grant_id = :grantId and ended_at is null returning grant_id)`
)

const COUNT_ENDED = 'select (select count(*) from ended)::integer as ended where exists (select 1 from changed)'

const revokeGrantsOfUser = defineChange(
  'revoke_grants_of_user',
  `raised as (${RAISE_OF_USER}),
  ended as (
    select g.grant_id from grants g ${BY_GENERATIONS}
    where ${AUTHORIZED} and g.user_id = :userId and g.ended_at is null and ${GRANT_EXPIRES_AT} > now()),
  forgotten as (
    select r.client_id from consents r ${REMEMBERED_BY} where ${STILL_REMEMBERED} and r.user_id = :userId),
  changed as (select 1 as one from ended union all select 1 from forgotten)`,
  { result: COUNT_ENDED }
)

const revokeGrantsToClient = defineChange(
  'revoke_grants_of_user_to_client',
  `raised as (${RAISE_OF_PAIR}),
  ended as (
    select g.grant_id from grants g ${BY_GENERATIONS}
    where ${AUTHORIZED} and g.user_id = :userId and g.client_id = :clientId and g.ended_at is null
      and ${GRANT_EXPIRES_AT} > now()),
  forgotten as (
    select r.client_id from consents r ${REMEMBERED_BY}
    where ${STILL_REMEMBERED} and r.user_id = :userId and r.client_id = :clientId),
  changed as (select 1 as one from ended union all select 1 from forgotten)`,
  { result: COUNT_ENDED }
)

const revokeAllToClient = defineChange(
  'revoke_grants_to_client',
  `changed as (
    update clients set authorization_generation = authorization_generation + 1
    where client_id = :clientId returning client_id)`
)

function endGrants(database: Database) {
  return {
    /** @returns false if the grant had ended before */
    async end(grantId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, revokeGrant({ grantId }, note))
    },

    /**
     * Ends the authorizations by a user, of one client or of all, in one write: grants, codes that are not exchanged yet, and
     * remembered consents. A grant that is created concurrently has an older generation, so it has ended as well.
     * @returns how many grants gave access until now; undefined if there was neither a grant nor a remembered consent
     */
    async endOfUser(
      { userId, clientId }: { userId: string; clientId: string | undefined },
      note: AuditNote
    ): Promise<number | undefined> {
      const change =
        clientId === undefined ? revokeGrantsOfUser({ userId }, note) : revokeGrantsToClient({ userId, clientId }, note)
      const rows = await database.query<{ ended: number }>(change)
      return rows[0]?.ended
    },

    /**
     * Ends the authorizations of a client by all users, in the same way.
     * @returns false if there is no such client
     */
    async endToClient(clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, revokeAllToClient({ clientId }, note))
    }
  }
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
