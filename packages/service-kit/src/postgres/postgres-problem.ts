import { DatabaseError } from 'pg'
import { problemOfConnection, type StoreProblem } from '../stores/store-problem.js'
import { remedyOfSetting } from './postgres-settings.js'

/** A pooler shares one connection of Postgres among several of ours. */
export class SharedConnections extends Error {
  override name = 'SharedConnections'
  /** Only `transaction` has a setting of ours. */
  readonly pooling: 'transaction' | 'mixed'
  constructor(pooling: 'transaction' | 'mixed') {
    super(POOLERS[pooling].reason)
    this.pooling = pooling
  }
}

/** The server is a standby, or the database or role is read-only. */
export class ReadOnlyDatabase extends Error {
  override name = 'ReadOnlyDatabase'
}

/** A setting of the role or the database with which requests would fail, or the right to no schema. */
export class UnusableSetting extends Error {
  override name = 'UnusableSetting'
  readonly setting: string
  constructor(setting: string) {
    super(REASONS[setting] ?? `has a value of ${setting} with which statements fail`)
    this.setting = setting
  }
}

const REASONS: Readonly<Record<string, string>> = {
  schema: 'allows the role no schema of its search_path',
  server_encoding: 'has a database whose encoding is not UTF8'
}

/**
 * The cause of a failed statement. `refused`: Postgres works, but the statement is wrong. `again`: it had no effect and may
 * be repeated. `held_up`: it waited too long for a lock, ran too long, or this process's clock is wrong. `unavailable`:
 * Postgres cannot be used.
 */
export type PostgresVerdict = { kind: 'refused' | 'again' | 'held_up' } | { kind: 'unavailable'; problem: StoreProblem }

export const TOO_MANY_CONNECTIONS = '53300'

// Serialization failure and deadlock; a prepared statement that is missing or exists already, which a pooler can cause.
const AGAIN = ['40001', '40P01', '26000', '42P05']
/** `near_now` refused the time of this process (docs/adr/0022-one-clock.md); another process may succeed. */
const WRONG_CLOCK = 'VKCLK'
// lock_timeout and statement_timeout.
const HELD_UP = ['55P03', '57014', WRONG_CLOCK]
// A missing table, column, function or privilege: a migration or restore is in progress or was forgotten.
const UNPREPARED = ['42P01', '42703', '42883', '42501']

// SQLSTATE classes: connection, transaction state, authorization, rollback, resources, object state, operator
// intervention, system, configuration, foreign servers, internal errors. 3D000: the database does not exist, as during a restore.
const OUTAGE = /^(08|25|28|40|53|55|57|58|F0|HV|XX)|^3D000$/

const REMEDIES: Readonly<Record<string, string>> = {
  [TOO_MANY_CONNECTIONS]: 'raise max_connections, or the connection limit of the role or the database',
  '25006': 'name the primary in the URL',
  '28000': 'compare the role of the URL with pg_hba.conf',
  '28P01': 'compare the role and password of the URL with those of the server',
  '3D000': 'compare the name of the database in the URL with those of the server',
  '53100': 'free disk space on the Postgres server'
}

const POOLERS = {
  transaction: {
    reason: 'is a pooler that shares connections (transaction mode), and no direct URL is set',
    remedy: 'set DATABASE_DIRECT_URL (RESOURCE_DATABASE_DIRECT_URL) to Postgres itself',
    isSetting: true
  },
  mixed: {
    reason: 'is a pooler that shares connections and loses prepared statements or transactions',
    remedy: 'use PgBouncer 1.21 or newer in transaction mode with max_prepared_statements, or session mode',
    isSetting: true
  }
}

const READ_ONLY = {
  reason: 'takes no writes',
  remedy: 'name the primary in the URL; check default_transaction_read_only and the free disk space'
}

export function classifyPostgresError(error: unknown): PostgresVerdict {
  if (error instanceof SharedConnections) return { kind: 'unavailable', problem: POOLERS[error.pooling] }
  if (error instanceof ReadOnlyDatabase) return { kind: 'unavailable', problem: READ_ONLY }
  if (error instanceof UnusableSetting) {
    const remedy = remedyOfSetting(error.setting)
    return { kind: 'unavailable', problem: { reason: error.message, remedy, isSetting: true } }
  }
  // Any other error does not come from the server: a lost connection or a time-out.
  if (!(error instanceof DatabaseError)) return { kind: 'unavailable', problem: problemOfConnection(error) }
  const { code = '' } = error
  if (AGAIN.includes(code) || isStalePlan(error)) return { kind: 'again' }
  if (HELD_UP.includes(code)) return { kind: 'held_up' }
  if (code !== '' && !OUTAGE.test(code)) return { kind: 'refused' }
  const remedy = REMEDIES[code]
  return {
    kind: 'unavailable',
    problem: { reason: `refuses (SQLSTATE ${code || 'missing'})`, ...(remedy && { remedy }) }
  }
}

/**
 * Returns the problem of a statement that succeeds in any migrated database. Undefined if the error does not come from
 * Postgres.
 */
export function problemOfStatement(error: unknown): StoreProblem | undefined {
  if (!(error instanceof DatabaseError)) return undefined
  const { code = 'missing' } = error
  const reason = `refuses a statement (SQLSTATE ${code})`
  return UNPREPARED.includes(code)
    ? { reason, remedy: 'run the migrations and grants; compare search_path with the schema of the tables' }
    : { reason }
}

/** A migration changed the result columns of a prepared statement. The message has the language of `lc_messages`. */
const isStalePlan = ({ code, routine }: DatabaseError): boolean =>
  code === '0A000' && routine === 'RevalidateCachedQuery'

/** Whether a statement failed because the database was not migrated to this release. Requests treat that as an outage. */
export const isUnprepared = (error: unknown): boolean => UNPREPARED.includes(sqlStateOf(error) ?? '')

/** The SQLSTATE of an error, or of the cause of a `StoreUnavailable`. */
function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code
  return error instanceof Error && error.cause instanceof DatabaseError ? error.cause.code : undefined
}

/** Whether a statement failed because a table does not exist. */
export function isUndefinedTable(error: unknown): boolean {
  return sqlStateOf(error) === '42P01'
}

/** Whether a statement failed because a unique value exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505'
}
