// Measures the deletion of an hour's expired tokens and their grants during introspection.
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { connectPostgres } from '../../packages/service-kit/dist/index.js'
import { createExpiredRows } from '../../services/authorization-server/dist/storage/postgres/expired-rows.js'
import { fillBucket, fillGrants } from './fill-tokens.mjs'
import { steadyLoad } from './steady-load.mjs'
import { administer } from './stores.mjs'

const INTROSPECTIONS_PER_SECOND = 400
const CALM_MS = 4_000
// Minimum duration of a measurement, so that a very fast drop has a p99, too.
const AT_LEAST_MS = 1_000

/**
 * @param clean deletes the expired rows
 * @param filling see fillBucket and fillGrants
 * @returns duration of `clean`, bytes written to the log of Postgres, and p99 of introspection before and meanwhile
 */
export async function measureExpiry({ databaseUrl, filling, grantsToo, introspect, clean }) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // In one transaction: a service would start to delete as soon as it sees a part.
    await client.query('begin')
    await client.query('select make_access_token_buckets($1, $1)', [filling.bucket])
    await fillBucket(client, filling)
    if (grantsToo) await fillGrants(client, filling)
    const load = steadyLoad(introspect, INTROSPECTIONS_PER_SECOND)
    const begun = performance.now()
    await wait(CALM_MS)
    await client.query('commit')
    const before = await walPosition(databaseUrl)
    const from = performance.now()
    await clean(client)
    const milliseconds = performance.now() - from
    const wal = await walBytesSince(databaseUrl, before)
    const to = from + Math.max(milliseconds, AT_LEAST_MS)
    await wait(Math.max(0, to - performance.now()))
    await load.stop()
    return { milliseconds, wal, calm: load.p99(begun + CALM_MS / 4, begun + CALM_MS), meanwhile: load.p99(from, to) }
  } finally {
    await client.end()
  }
}

export async function dropBuckets(client) {
  const { rows } = await client.query('select drop_access_token_buckets(now()) as dropped')
  if (rows[0].dropped !== 1)
    throw new Error(`${rows[0].dropped} tables were dropped: the service was faster; try again`)
}

/** Uses the statements of the service's housekeeping. */
export async function deleteExpiredRows(databaseUrl) {
  const database = connectPostgres(databaseUrl, { connections: 1 })
  const expiredRows = createExpiredRows(database)
  while (await expiredRows.deleteSome());
  await database.close()
}

export async function walPosition(databaseUrl) {
  return (await administer(databaseUrl, 'select pg_current_wal_insert_lsn() as position'))[0].position
}

export async function walBytesSince(databaseUrl, position) {
  const statement = `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '${position}') as bytes`
  return Number((await administer(databaseUrl, statement))[0].bytes)
}
