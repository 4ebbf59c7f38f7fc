import { type ConnectedDatabase, connectPostgres } from '@valetkey/service-kit'

/** This is shorter than Jest's limit, so that the error names the statement that hangs. */
const HANG_MS = 150_000

/** A database whose statements never fail because the machine is slow; tests of time limits use `connectPostgres`. */
export function connectWithoutLimits(url: string, options: Parameters<typeof connectPostgres>[1]): ConnectedDatabase {
  const database = connectPostgres(url, { ...options, statementMs: HANG_MS, connectMs: HANG_MS })
  return { ...database, query: ({ withinMs: _, ...statement }) => database.query(statement) }
}
