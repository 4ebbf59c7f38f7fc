export type PoolMode = 'session' | 'transaction' | 'statement'

/** @param tools.command the path of `pgbouncer`; `databaseUrl` is the database behind it. */
export function startPooler(tools: {
  directory: string
  processes: unknown
  command: string
  databaseUrl: string
  mode: PoolMode
}): Promise<{ url: string; stop(): Promise<void> }>
