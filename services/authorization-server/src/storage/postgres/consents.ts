import { type Database, defineStatement } from '@valetkey/service-kit'
import type { AllowedGenerations } from './allowances.js'
import { AUTHORIZATION_GENERATION, REMEMBERED_BY, STILL_REMEMBERED } from './authorization-generation.js'
import { remainingScope } from './remaining-scope.js'

/** What a user allowed a client for one API. */
export type ConsentKey = { userId: string; clientId: string; audience: string }

/** What a user allowed, with the generations at Allow. */
export type AllowedScope = {
  scope: readonly string[]
  /** The greatest number of a scope in the request (`scopes.number`). */
  newestScope: number
  userGeneration: number
  /** When the access ends, in milliseconds since 1970. Undefined: the user chose no end. */
  endsAt?: number | undefined
} & AllowedGenerations

/** What a user decided about a request. @property declined optional scopes that the user left out */
type Decided = AllowedScope & { declined: readonly string[] }

/** Rows that one statement deletes; it takes some tens of milliseconds. */
const STEP = 20_000

/** Remembered consents: what users allowed clients that are registered with `consent: 'remember'`. */
export function createConsentStore(database: Database) {
  return { ...consentsOfUsers(database), ...consentsToDelete(database) }
}

export type ConsentStore = ReturnType<typeof createConsentStore>

const findConsent = defineStatement(
  'find_consent',
  `select remaining.scope from consents r ${REMEMBERED_BY} ${remainingScope('r')}
  where remaining.scope is not null and r.user_id = :userId and r.client_id = :clientId and r.audience = :audience
    and ${STILL_REMEMBERED}`
)

const IS_SAME_AUTHORIZATION = `(consents.authorization_generation = excluded.authorization_generation
  and (consents.ends_at is null or consents.ends_at > now()))`

/** Leaves out scopes that were created again since: the greater `newest_scope` would make them count. */
const knownBefore = (column: 'scope' | 'declined') => `select s.name from scopes s
  where s.name = any (consents.${column}) and s.number <= consents.newest_scope`

const rememberConsent = defineStatement(
  'remember_consent',
  `with locked_scopes as (
    select name, selects from scopes where name = any (:scope::text[] || :declined::text[]) and number <= :newestScope
    order by name for key share)
  insert into consents (user_id, client_id, audience, scope, declined, newest_scope, granted_at,
    authorization_generation, ends_at)
  select u.user_id, c.client_id, :audience, array(select name from locked_scopes where name = any (:scope) and not selects),
    array(select name from locked_scopes where name = any (:declined)), :newestScope, now(), ${AUTHORIZATION_GENERATION},
    :endsAt::timestamptz
  from users u join clients c on c.client_id = :clientId
  left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id
  where u.user_id = :userId and u.generation = :userGeneration and c.generation = :clientGeneration
    and ${AUTHORIZATION_GENERATION} = :authorizationGeneration
  on conflict (user_id, client_id, audience) do update set
    scope = case when ${IS_SAME_AUTHORIZATION}
      then array(${knownBefore('scope')} union select unnest(excluded.scope)) else excluded.scope end,
    declined = case when ${IS_SAME_AUTHORIZATION}
      then array((${knownBefore('declined')} union select unnest(excluded.declined))
        except (select unnest(consents.scope || :scope::text[]))) else excluded.declined end,
    newest_scope = case when ${IS_SAME_AUTHORIZATION}
      then greatest(consents.newest_scope, excluded.newest_scope) else excluded.newest_scope end,
    ends_at = case when ${IS_SAME_AUTHORIZATION} and not consents.scope <@ excluded.scope
      then least(consents.ends_at, excluded.ends_at) else excluded.ends_at end,
    granted_at = excluded.granted_at, authorization_generation = excluded.authorization_generation`
)

function consentsOfUsers(database: Database) {
  return {
    async findScope({ userId, clientId, audience }: ConsentKey): Promise<readonly string[]> {
      const rows = await database.query<{ scope: string[] }>(findConsent({ userId, clientId, audience }))
      return rows[0]?.scope ?? []
    },

    /**
     * Adds to the remembered decisions; a later request for less does not narrow an earlier consent. A consent from before the end
     * of the authorization, or that is over, is replaced. All scopes have one end, the earliest: a decision about all remembered scopes
     * sets it, and a decision about other scopes can only make it earlier. Stores nothing if a generation has grown since Allow: this
     * statement may execute long after its request got 503. A scope that the user did not decide about is omitted, and so is one that
     * selects: each Allow needs a choice of its own.
     */
    async remember({ userId, clientId, audience }: ConsentKey, decided: Decided): Promise<void> {
      const endsAt = decided.endsAt === undefined ? undefined : new Date(decided.endsAt)
      await database.query(rememberConsent({ ...decided, endsAt, userId, clientId, audience }))
    }
  }
}

function consentsToDelete(database: Database) {
  return {
    /**
     * Deletes the rows of a disabled client, in short statements.
     * @returns the number of deleted rows
     */
    async deleteOfClient(clientId: string): Promise<number> {
      let total = 0
      let deleted: number
      do {
        const rows = await database.query<{ count: number }>({
          name: 'delete_consents_to_client',
          text: `with deleted as (
              delete from consents where ctid = any (array(select ctid from consents where client_id = $1 limit ${STEP}))
              returning 1)
            select count(*)::integer as count from deleted`,
          values: [clientId]
        })
        deleted = rows[0]?.count ?? 0
        total += deleted
      } while (deleted === STEP)
      return total
    }
  }
}
