import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'

/** What an API reports that apps did. */
export type ApiAction = {
  /** As the API reports it, such as `list_files`. */
  name: string
  /** For users, before a number: `Listed files`. */
  title: string
  /** The title by language tag. */
  translations: Readonly<Record<string, string>>
}

/** By the name of the action. */
type StoredActions = Readonly<Record<string, { title: string; translations?: Readonly<Record<string, string>> }>>

const setActions = defineChange(
  'set_api_actions',
  `changed as (
    insert into api_actions as kept (audience, actions)
    select r.audience, :actions::jsonb from resource_servers r where r.client_id = :clientId
    on conflict (audience) do update set actions = excluded.actions where kept.actions = :former::jsonb
    returning audience)`
)

/** The actions that operators declared for APIs. */
export function createApiActionStore(database: Database) {
  return {
    /** @param clientId of any credential of the API. @returns undefined if there is no such credential */
    async find(clientId: string): Promise<{ audience: string; actions: readonly ApiAction[] } | undefined> {
      const rows = await database.query<{ audience: string; actions: StoredActions | null }>({
        name: 'find_api_actions',
        text: `select r.audience, a.actions from resource_servers r
          left join api_actions a on a.audience = r.audience where r.client_id = $1`,
        values: [clientId]
      })
      return rows.map(({ audience, actions }) => ({ audience, actions: toActions(actions ?? {}) }))[0]
    },

    /**
     * Replaces the actions of an API.
     * @param change.former the actions that were read before
     * @returns false if they have changed since, or there is no such credential
     */
    async replace(
      clientId: string,
      { former, actions }: { former: readonly ApiAction[]; actions: readonly ApiAction[] },
      note: AuditNote
    ): Promise<boolean> {
      const values = { clientId, actions: toStored(actions), former: toStored(former) }
      return makeAudited(database, setActions(values, note))
    }
  }
}

export type ApiActionStore = ReturnType<typeof createApiActionStore>

function toActions(stored: StoredActions): ApiAction[] {
  return Object.entries(stored)
    .map(([name, { title, translations = {} }]) => ({ name, title, translations: sorted(translations) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** Postgres has an order of its own for the members of an object. */
export function sorted(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function toStored(actions: readonly ApiAction[]): string {
  return JSON.stringify(
    Object.fromEntries(
      actions.map(({ name, title, translations }) => [
        name,
        { title, ...(Object.keys(translations).length > 0 && { translations }) }
      ])
    )
  )
}
