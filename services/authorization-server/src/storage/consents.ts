import type { Database } from '@valetkey/service-kit'

type ConsentPlace = { user_id: string; client_id: string }
/** The last row of a step, and how many of its rows were changed. */
type ChangedStep = ConsentPlace & { changed: number }

const NOBODY = '00000000-0000-0000-0000-000000000000'
/** Rows looked at in one statement: some tens of milliseconds. */
const STEP = 20_000

/** What users have allowed to clients that are registered to remember it. */
export function createConsentStore(database: Database) {
  /**
   * Once through all rows, in the order of their key, for those that are wanted lie scattered.
   * @param of.change to the rows of `step`, as `value` ($1) wants it
   */
  async function inSteps({ name, change, value }: { name: string; change: string; value: string }): Promise<number> {
    let total = 0
    let place: ConsentPlace | undefined = { user_id: NOBODY, client_id: '' }
    while (place !== undefined) {
      const rows: ChangedStep[] = await database.query<ChangedStep>({
        name,
        text: `with step as (
            select user_id, client_id from consents where (user_id, client_id) > ($2::uuid, $3::text)
            order by user_id, client_id limit ${STEP}
          ), changed as (${change} returning 1)
          select user_id, client_id, (select count(*) from changed)::integer as changed
          from step order by user_id desc, client_id desc limit 1`,
        values: [value, place.user_id, place.client_id]
      })
      place = rows[0]
      total += rows[0]?.changed ?? 0
    }
    return total
  }

  return {
    async findScope(userId: string, clientId: string): Promise<readonly string[]> {
      const rows = await database.query<{ scope: string[] }>({
        name: 'find_consent',
        text: 'select scope from consents where user_id = $1 and client_id = $2',
        values: [userId, clientId]
      })
      return rows[0]?.scope ?? []
    },

    /** Adds to what is remembered; an earlier, wider consent is not narrowed by a later, smaller request. */
    async remember(userId: string, clientId: string, scope: readonly string[], now: Date): Promise<void> {
      await database.query({
        name: 'remember_consent',
        text: `insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, $3, $4)
          on conflict (user_id, client_id) do update set
            scope = array(select distinct unnest(consents.scope || excluded.scope)),
            granted_at = excluded.granted_at`,
        values: [userId, clientId, scope, now]
      })
    },

    /**
     * Forgets what all users have allowed to a client, in short statements however many there are.
     * @returns how many were forgotten
     */
    forgetClient(clientId: string): Promise<number> {
      return inSteps({
        name: 'forget_consents_to_client',
        change: `delete from consents c using step
          where step.client_id = $1 and c.user_id = step.user_id and c.client_id = step.client_id`,
        value: clientId
      })
    },

    /** Takes a scope from all that is remembered, in the same way. @returns from how many */
    forgetScope(scope: string): Promise<number> {
      return inSteps({
        name: 'forget_consents_to_scope',
        change: `update consents c set scope = array_remove(c.scope, $1) from step
          where $1 = any (c.scope) and c.user_id = step.user_id and c.client_id = step.client_id`,
        value: scope
      })
    }
  }
}

export type ConsentStore = ReturnType<typeof createConsentStore>
