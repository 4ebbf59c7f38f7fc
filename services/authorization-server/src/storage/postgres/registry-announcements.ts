import type { Database } from '@valetkey/service-kit'

const TABLES = ['clients', 'client_secrets', 'scopes', 'resource_servers']

export function createRegistryAnnouncements(database: Database) {
  return {
    /** @throws when changes of the registry's tables are not announced: their triggers are missing or switched off */
    async mustBeInPlace(): Promise<void> {
      const rows = await database.query<{ table: string }>({
        name: 'find_registry_triggers',
        // 'O' and 'A' are those that fire for us.
        text: `select tgrelid::regclass::text as table from pg_trigger
          where tgname = 'announce_to_registry' and tgenabled in ('O', 'A')
            and tgrelid in (select to_regclass(name) from unnest($1::text[]) as name)`,
        values: [TABLES]
      })
      if (rows.length < TABLES.length)
        throw new Error('changes are not announced: triggers announce_to_registry are missing or switched off')
    }
  }
}

export type RegistryAnnouncements = ReturnType<typeof createRegistryAnnouncements>
