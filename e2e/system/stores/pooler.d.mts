export type PoolMode = 'session' | 'transaction' | 'statement'

/** The version of this `pgbouncer`; from 1.21 on it keeps prepared statements apart in transaction mode. */
export function poolerVersion(command: string): { version: string; keepsStatements: boolean }

/**
 * @param tools.command the path of `pgbouncer`; `databaseUrl` is the database behind it, `port` that of an earlier one. From
 *   version 1.21 on it has `max_prepared_statements` 200
 */
export function startPooler(tools: {
  directory: string
  processes: unknown
  command: string
  databaseUrl: string
  mode: PoolMode
  port?: number
}): Promise<{ url: string; stop(): Promise<void> }>
