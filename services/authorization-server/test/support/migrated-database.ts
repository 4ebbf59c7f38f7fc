import path from 'node:path'
import { createTestDatabase } from '@valetkey/dev-stack'
import { type Database, migrate } from '@valetkey/service-kit'
import { connectWithoutLimits } from './connect-without-limits.js'

export const MIGRATIONS = path.resolve(import.meta.dirname, '../../migrations')

/** The template for `createTestDatabase`: a database with the migrations of this release. */
export const MIGRATED = { name: 'authorization_server', fill: (url: string) => migrate(url, MIGRATIONS) }

/** A new database with the migrations of this release. */
export async function createMigratedDatabase() {
  const testDatabase = await createTestDatabase(MIGRATED)
  const database: Database = connectWithoutLimits(testDatabase.url, { connections: 10 })
  return {
    url: testDatabase.url,
    database,
    /** Runs statements that no store has. */
    run: <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      database.query<Row>({ name: '', text, values }),
    async close() {
      await database.close()
      await testDatabase.drop()
    }
  }
}

export type MigratedDatabase = Awaited<ReturnType<typeof createMigratedDatabase>>
