import type { Database } from '@valetkey/service-kit'

const TABLES = ['clients', 'client_secrets', 'client_keys', 'client_key_sets', 'scopes', 'resource_servers']

export function createRegistryAnnouncements(database: Database) {
  return {
    /** @throws if triggers are missing or disabled, so that changes of the tables would not be announced */
    async mustBeInPlace(): Promise<void> {
      const rows = await database.query<{ table: string }>({
        name: 'find_registry_triggers',
        // 'O' (origin) and 'A' (always) are the states in which a trigger fires for normal sessions.
        text: `select tgrelid::regclass::text as table from pg_trigger
          where tgname = 'announce_to_registry' and tgenabled in ('O', 'A')
            and tgrelid in (select to_regclass(name) from unnest($1::text[]) as name)`,
        values: [TABLES]
      })
      if (rows.length < TABLES.length)
        throw new Error('changes are not announced: triggers announce_to_registry are missing or disabled')
    }
  }
}

export type RegistryAnnouncements = ReturnType<typeof createRegistryAnnouncements>
