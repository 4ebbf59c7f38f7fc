import type { Database } from '@valetkey/service-kit'
import type { AllowedGenerations } from './allowances.js'
import { AUTHORIZATION_GENERATION, REMEMBERED_BY, STILL_REMEMBERED } from './authorization-generation.js'

/** What a user allowed a client for one API. */
export type ConsentKey = { userId: string; clientId: string; audience: string }

/** What a user allowed, with the generations at Allow. */
export type AllowedScope = { scope: readonly string[]; userGeneration: number } & AllowedGenerations

type Place = { user_id: string; client_id: string; audience: string }
/** The last row of a step, and how many of its rows were changed. */
type ChangedStep = Place & { changed: number }

/** Less than every user id. */
const NO_USER_ID = '00000000-0000-0000-0000-000000000000'
/** Rows that one statement reads or deletes; it takes some tens of milliseconds. */
const STEP = 20_000

/** Remembered consents: what users allowed clients that are registered with `consent: 'remember'`. */
export function createConsentStore(database: Database) {
  return { ...consentsOfUsers(database), ...consentsToDelete(database) }
}

export type ConsentStore = ReturnType<typeof createConsentStore>

function consentsOfUsers(database: Database) {
  return {
    async findScope({ userId, clientId, audience }: ConsentKey): Promise<readonly string[]> {
      const rows = await database.query<{ scope: string[] }>({
        name: 'find_consent',
        text: `select r.scope from consents r ${REMEMBERED_BY}
          where r.user_id = $1 and r.client_id = $2 and r.audience = $3 and ${STILL_REMEMBERED}`,
        values: [userId, clientId, audience]
      })
      return rows[0]?.scope ?? []
    },

    /**
     * Adds to the remembered scope; a later request for less does not narrow an earlier consent. A consent from before the end of
     * the authorization is replaced. Stores nothing if a generation has grown since Allow: this statement may execute long after
     * its request got 503. A scope that is not in the catalogue is omitted.
     */
    async remember(
      { userId, clientId, audience }: ConsentKey,
      { scope, userGeneration, clientGeneration, authorizationGeneration }: AllowedScope
    ): Promise<void> {
      await database.query({
        name: 'remember_consent',
        text: `with locked_scopes as (
            select name from scopes where name = any ($3::text[]) order by name for key share
          )
          insert into consents (user_id, client_id, audience, scope, granted_at, authorization_generation)
          select u.user_id, c.client_id, $4, array(select name from locked_scopes), now(), ${AUTHORIZATION_GENERATION}
          from users u join clients c on c.client_id = $2
          left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id
          where u.user_id = $1 and u.generation = $5 and c.generation = $6 and ${AUTHORIZATION_GENERATION} = $7
          on conflict (user_id, client_id, audience) do update set
            scope = case when consents.authorization_generation = excluded.authorization_generation
              then array(select distinct unnest(consents.scope || excluded.scope)) else excluded.scope end,
            granted_at = excluded.granted_at, authorization_generation = excluded.authorization_generation`,
        values: [userId, clientId, scope, audience, userGeneration, clientGeneration, authorizationGeneration]
      })
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
    },

    /**
     * Removes a scope from all remembered consents, in short statements. Goes through all rows in the order of their key, because
     * no index finds the matching ones.
     * @returns the number of changed rows
     */
    async forgetScope(scope: string): Promise<number> {
      let total = 0
      let place: Place | undefined = { user_id: NO_USER_ID, client_id: '', audience: '' }
      while (place !== undefined) {
        const rows: ChangedStep[] = await database.query<ChangedStep>({
          name: 'forget_consents_to_scope',
          text: `with step as (
              select user_id, client_id, audience from consents
              where (user_id, client_id, audience) > ($2::uuid, $3::text, $4::text)
              order by user_id, client_id, audience limit ${STEP}
            ), changed as (
              update consents c set scope = array_remove(c.scope, $1) from step
              where $1 = any (c.scope)
                and c.user_id = step.user_id and c.client_id = step.client_id and c.audience = step.audience
              returning 1)
            select user_id, client_id, audience, (select count(*) from changed)::integer as changed
            from step order by user_id desc, client_id desc, audience desc limit 1`,
          values: [scope, place.user_id, place.client_id, place.audience]
        })
        place = rows[0]
        total += rows[0]?.changed ?? 0
      }
      return total
    }
  }
}
