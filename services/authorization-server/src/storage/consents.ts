import type { Database } from '@valetkey/service-kit'

/** What users have allowed to clients that are registered to remember it. */
export function createConsentStore(database: Database) {
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
    }
  }
}

export type ConsentStore = ReturnType<typeof createConsentStore>
