import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'

const mark = defineChange(
  'mark_api_auth_time',
  `changed as (
    insert into apis_with_auth_time (audience)
    select r.audience from resource_servers r where r.client_id = :clientId
    on conflict do nothing returning audience)`
)

const unmark = defineChange(
  'unmark_api_auth_time',
  `changed as (
    delete from apis_with_auth_time a using resource_servers r
    where r.client_id = :clientId and a.audience = r.audience returning a.audience)`
)

/** The APIs whose introspection says when the user signed in. */
export function createAuthTimeStore(database: Database) {
  return {
    /** @param clientId of any credential of the API. @returns undefined if there is no such credential */
    async find(clientId: string): Promise<{ audience: string; isMarked: boolean } | undefined> {
      const rows = await database.query<{ audience: string; is_marked: boolean }>({
        name: 'find_api_auth_time',
        text: `select r.audience, a.audience is not null as is_marked
          from resource_servers r left join apis_with_auth_time a on a.audience = r.audience where r.client_id = $1`,
        values: [clientId]
      })
      return rows.map((row) => ({ audience: row.audience, isMarked: row.is_marked }))[0]
    },

    /** @returns false if nothing was changed */
    async set(clientId: string, isMarked: boolean, note: AuditNote): Promise<boolean> {
      return makeAudited(database, isMarked ? mark({ clientId }, note) : unmark({ clientId }, note))
    }
  }
}

export type AuthTimeStore = ReturnType<typeof createAuthTimeStore>
