import { DatabaseError } from 'pg'
import { problemOfConnection, type StoreProblem } from '../stores/store-problem.js'

/** A pooler that hands one connection of Postgres to several of ours. */
export class SharedConnections extends Error {
  override name = 'SharedConnections'
}

/** A standby, or a database or role whose transactions are read-only. */
export class ReadOnlyDatabase extends Error {
  override name = 'ReadOnlyDatabase'
}

/**
 * What an error of a statement means. `refused`: Postgres works, and the statement is at fault. `again`: it changed
 * nothing, and may succeed when it is sent again. `held_up`: others held it up for too long, or the clock
 * of this process is wrong. `away`: Postgres cannot be used.
 */
export type PostgresVerdict = { kind: 'refused' | 'again' | 'held_up' } | { kind: 'away'; problem: StoreProblem }

export const TOO_MANY_CONNECTIONS = '53300'

// Deadlock and serialization failure; a prepared statement that this connection lacks or has already, as behind a pooler.
const AGAIN = ['40001', '40P01', '26000', '42P05']
/** `near_now` refused the time that this process brought (docs/adr/0022-one-clock.md); another process can do it. */
const WRONG_CLOCK = 'VKCLK'
// A lock that is not had in time, and statement_timeout.
const HELD_UP = ['55P03', '57014', WRONG_CLOCK]
// A table, column, function or right that is missing: a migration or a restore is under way, or was left out.
const UNPREPARED = ['42P01', '42703', '42883', '42501']

// Classes: connection, transaction state, login, rollback, resources, not in the right state, operator
// intervention, system, configuration, foreign servers, internal errors. A database that is not there, as while it is restored.
const OUTAGE = /^(08|25|28|40|53|55|57|58|F0|HV|XX)|^3D000$/

const REMEDIES: Readonly<Record<string, string>> = {
  [TOO_MANY_CONNECTIONS]: 'raise max_connections, or the connection limit of the role or the database',
  '25006': 'name the primary in the URL',
  '28000': 'compare the role of the URL with pg_hba.conf',
  '28P01': 'compare the role and password of the URL with those of the server',
  '3D000': 'compare the name of the database in the URL with those of the server',
  '53100': 'make room on the disk of Postgres'
}

const POOLER = {
  reason: 'is a pooler that shares connections (transaction or statement mode), which is not supported',
  remedy: 'name Postgres itself in the URL, or let the pooler work in session mode',
  isSetting: true
}

const READ_ONLY = {
  reason: 'takes no writes',
  remedy: 'name the primary in the URL; look at default_transaction_read_only, and at the room on its disk'
}

export function classifyPostgresError(error: unknown): PostgresVerdict {
  if (error instanceof SharedConnections) return { kind: 'away', problem: POOLER }
  if (error instanceof ReadOnlyDatabase) return { kind: 'away', problem: READ_ONLY }
  // Anything that is not an answer of the server is a lost connection or a time-out.
  if (!(error instanceof DatabaseError)) return { kind: 'away', problem: problemOfConnection(error) }
  const { code = '' } = error
  if (AGAIN.includes(code) || isStalePlan(error)) return { kind: 'again' }
  if (HELD_UP.includes(code)) return { kind: 'held_up' }
  if (code !== '' && !OUTAGE.test(code)) return { kind: 'refused' }
  const remedy = REMEDIES[code]
  return { kind: 'away', problem: { reason: `refuses (SQLSTATE ${code || 'missing'})`, ...(remedy && { remedy }) } }
}

/** Of a statement that any database of ours answers. Undefined when the error is no answer of Postgres. */
export function problemOfStatement(error: unknown): StoreProblem | undefined {
  if (!(error instanceof DatabaseError)) return undefined
  const { code = 'missing' } = error
  const reason = `refuses a statement (SQLSTATE ${code})`
  return UNPREPARED.includes(code) ? { reason, remedy: 'run the migrations and grants' } : { reason }
}

/** A migration changed the columns of a statement that this connection had prepared. */
const isStalePlan = ({ code, message }: DatabaseError): boolean =>
  code === '0A000' && /cached plan must not change result type/i.test(message)

/** Whether a statement failed because the database is not prepared for this release: for a request that is an outage, too. */
export const isUnprepared = (error: unknown): boolean => UNPREPARED.includes(sqlStateOf(error) ?? '')

/** The SQLSTATE of Postgres's answer, also where it was turned into an outage. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code
  return error instanceof Error && error.cause instanceof DatabaseError ? error.cause.code : undefined
}
