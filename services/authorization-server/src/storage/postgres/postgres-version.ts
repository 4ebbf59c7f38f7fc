import type { Database } from '@valetkey/service-kit'

const STATEMENT = "select current_setting('server_version') as version"

/** Returns the version as Postgres names it: `18.1 (Debian 18.1-1)`. */
export async function readPostgresVersion(database: Database): Promise<string> {
  const rows = await database.query<{ version: string }>({
    name: 'read_postgres_version',
    text: STATEMENT,
    values: []
  })
  return rows[0]?.version ?? ''
}
