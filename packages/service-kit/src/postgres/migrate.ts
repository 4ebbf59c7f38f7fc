import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from 'pg'
import { ASK_PID, findPooling, isBehindPooler } from './postgres-pooler.js'
import { connectToPrimary } from './postgres-primary.js'
import {
  type FoundSettings,
  READ_SETTINGS,
  remedyOfSetting,
  SET_OWN_SETTINGS,
  unusableSetting
} from './postgres-settings.js'

/** A migration that cannot be applied; the message names it. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

const HISTORY_TABLE = `
  create table if not exists schema_migrations (
    name text primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`

type Migration = { name: string; sql: string; checksum: string }

const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/
// An arbitrary number, the same in every release.
const LOCK_KEY = 7_263_548_190
// A statement that waits for a table makes all later requests for that table wait. So it waits briefly, and the pause lets
// those requests continue. All attempts of one migration take less time than a job of the Helm chart may.
const TABLE_LOCKS = { timeoutMs: 5_000, attempts: 20, pauseMs: 5_000 }
/** The time limit for a table, and a deadlock: a request locks the tables of its statement in another order. */
const LOCKED = ['55P03', '40P01']

/**
 * Applies the pending migrations of `directory` in order, each in its own transaction. Several instances may run it
 * concurrently: one applies them, and the others wait and then find none. Forward only: a file that was changed after it
 * was applied is an error.
 * @param databaseUrl of Postgres itself, or of a pooler in session mode
 * @param tableLocks how long a statement waits for a table, how often its migration is tried, and the pause before the next attempt
 * @returns the names of the migrations applied now
 * @throws {MigrationError}
 */
export async function migrate(
  databaseUrl: string,
  directory: string,
  tableLocks = TABLE_LOCKS
): Promise<readonly string[]> {
  const migrations = await readMigrations(directory)
  return withClient(databaseUrl, async (client) => {
    await requireOwnConnection(databaseUrl, client)
    await applySettings(client)
    // The role may have the time limits of requests. The other processes wait for the advisory lock until one has finished.
    await client.query('set statement_timeout = 0; set lock_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY])
    await client.query(HISTORY_TABLE)
    const pending = await findPending(client, migrations)
    for (const migration of pending) await apply(client, migration, tableLocks)
    return pending.map((migration) => migration.name)
  })
}

/** The names of the migrations that have not been applied yet. */
export async function pendingMigrations(databaseUrl: string, directory: string): Promise<readonly string[]> {
  const migrations = await readMigrations(directory)
  const pending = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ exists: boolean }>(
      "select to_regclass('schema_migrations') is not null as exists"
    )
    return rows[0]?.exists ? findPending(client, migrations) : migrations
  })
  return pending.map((migration) => migration.name)
}

async function applySettings(client: Client): Promise<void> {
  await client.query(SET_OWN_SETTINGS)
  const { rows } = await client.query<FoundSettings>(READ_SETTINGS)
  const unusable = rows[0] && unusableSetting(rows[0])
  if (unusable === undefined) return
  const { name, value } = unusable
  throw new MigrationError(`the database cannot be used (${name}: ${value}): ${remedyOfSetting(name)}`)
}

/** The advisory lock belongs to a connection of Postgres, which a pooler must not give to others. */
async function requireOwnConnection(databaseUrl: string, client: Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>(ASK_PID)
  if (!isBehindPooler(client, rows[0]?.pid)) return
  const pooling = await findPooling(databaseUrl)
  if (pooling === 'transaction' || pooling === 'mixed') {
    throw new MigrationError(
      'the database is reached through a pooler that shares connections: set DATABASE_DIRECT_URL ' +
        '(RESOURCE_DATABASE_DIRECT_URL) to Postgres itself'
    )
  }
}

async function withClient<Result>(databaseUrl: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connectToPrimary(databaseUrl, { connectionTimeoutMillis: 10_000 })
  try {
    return await work(client)
  } finally {
    // Ends the session and with it the advisory lock.
    await client.end()
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()
  const misnamed = names.find((name) => !FILE_NAME.test(name))
  if (misnamed) throw new MigrationError(`${misnamed}: a migration is named NNNN_verb_noun.sql`)
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(path.join(directory, name), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
  )
}

async function findPending(client: Client, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migrations'
  )
  const applied = new Map(rows.map((row) => [row.name, row.checksum]))
  return migrations.filter((migration) => {
    const checksum = applied.get(migration.name)
    if (checksum !== undefined && checksum !== migration.checksum) {
      throw new MigrationError(
        `${migration.name}: was changed after it had been applied. Use a new database, or the files that were applied`
      )
    }
    return checksum === undefined
  })
}

async function apply(client: Client, migration: Migration, { timeoutMs, attempts, pauseMs }: typeof TABLE_LOCKS) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`begin; set local lock_timeout = ${timeoutMs}`)
      await client.query(migration.sql)
      await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [
        migration.name,
        migration.checksum
      ])
      await client.query('commit')
      return
    } catch (cause) {
      await client.query('rollback').catch(() => {})
      const isLocked = cause instanceof Error && 'code' in cause && LOCKED.includes(String(cause.code))
      if (!isLocked) {
        const reason = cause instanceof Error ? cause.message : 'unknown error'
        throw new MigrationError(`${migration.name}: ${reason}`, { cause })
      }
      if (attempt === attempts) {
        const problem = `another transaction still locks a table after ${attempts} attempts`
        throw new MigrationError(
          `${migration.name}: ${problem}: end that transaction (pg_stat_activity) and run it again`,
          { cause }
        )
      }
      await wait(pauseMs)
    }
  }
}
