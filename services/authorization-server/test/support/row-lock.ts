import { hashToken } from '@valetkey/oauth-protocol'
import pg from 'pg'
import type { TestServer } from './authorization-server.js'
import { BLOCKED, untilBlocked } from './until-blocked.js'

export type RowLock = {
  /** Waits until this number of statements wait for a lock. */
  blocked(count: number): Promise<void>
  /** Ends the connections of the waiting statements. */
  terminateBlocked(): Promise<void>
  release(): Promise<void>
}

/** Locks the grant of a refresh token, so that statements that end or refresh it wait, in order. */
export async function lockGrantOf(server: TestServer, refreshToken: string): Promise<RowLock> {
  return lock(server, LOCK_GRANT, refreshToken)
}

/** Locks the future grant of a code, so that its exchange and statements that end the grant wait. */
export async function lockGrantOfCode(server: TestServer, code: string): Promise<RowLock> {
  return lock(server, INSERT_GRANT, code)
}

const LOCK_GRANT = `select 1 from grants where grant_id = (select grant_id from refresh_tokens where token_hash = $1)
  for update`

// Never committed.
const INSERT_GRANT = `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash,
    user_generation, client_generation, newest_scope, created_at, expires_at)
  values (gen_random_uuid(), 'none', gen_random_uuid(), '{}', '', '', $1, 0, 0, 0, now(), now())`

async function lock(server: TestServer, statement: string, secret: string): Promise<RowLock> {
  const connection = { connectionString: server.config.databaseUrl }
  const holder = new pg.Client(connection)
  // A query inside the transaction of the lock would always see the same activity.
  const observer = new pg.Client(connection)
  for (const each of [holder, observer]) await each.on('error', () => {}).connect()
  await holder.query('begin')
  await holder.query(statement, [hashToken(secret)])
  return {
    blocked: (count) => untilBlocked(async (text) => (await observer.query(text)).rows, count),
    async terminateBlocked() {
      await observer.query(`select pg_terminate_backend(pid, 5000) from (${BLOCKED}) as waiting`)
    },
    async release() {
      await holder.query('rollback')
      await Promise.all([holder.end(), observer.end()])
    }
  }
}
