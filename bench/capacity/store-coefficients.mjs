// Measures what requests write: rows, bytes of rows and of the log of Postgres, commands and bytes of Redis; and what
// notifications cost.
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { connectPostgres } from '../../packages/service-kit/dist/index.js'
import { createConsentStore } from '../../services/authorization-server/dist/storage/postgres/consents.js'
import { sendAll } from '../lib/send-all.mjs'
import { redisSizes } from '../lib/store-sizes.mjs'
import { administer } from '../lib/stores.mjs'
import { SCOPE } from '../lib/test-data.mjs'
import { since } from './meters.mjs'
import { OPERATIONS } from './mix.mjs'

const SENDERS = 4
const WRITING = ['authorization', 'refresh', 'revocation', 'signIn']
/** Audit events are written within 250 ms, and Postgres publishes its statistics within a second. */
const SETTLED_MS = 1_500
const CHANNEL = 'valetkey_revocations'
/** Of measurements of what Postgres does one after the other. */
const CONNECTIONS = 8

/**
 * @param count requests of each operation
 * @returns for one request of each operation: `records`, bytes of the log of Postgres without whole pages; `auditRows`;
 *   `commands` of Redis. And `image`: bytes of a whole page
 */
export async function measureWrites({ stores, meters }, { send }, count) {
  const databaseUrl = stores.databaseUrls[0]
  const each = async (operation) => {
    const before = { ...(await meters.read()), audit: await auditRows(databaseUrl) }
    await sendAll(send[operation], { count: countOf(operation, count), senders: SENDERS })
    await untilErased(databaseUrl)
    await wait(SETTLED_MS)
    const spent = since(before, { ...(await meters.read()), audit: await auditRows(databaseUrl) })
    return { ...spent, count: countOf(operation, count) }
  }
  await untilErased(databaseUrl)
  await configure(stores.clusterUrl, { full_page_writes: 'off', autovacuum: 'off' })
  const records = {}
  const audit = {}
  const commands = {}
  for (const operation of OPERATIONS) {
    const spent = await each(operation)
    // The others write nothing (`npm run bench:gates`); background work would count as theirs.
    if (WRITING.includes(operation)) records[operation] = spent.walBytes / spent.count
    audit[operation] = Math.round(spent.audit / spent.count)
    commands[operation] = Math.round(spent.commands / spent.count)
  }
  await configure(stores.clusterUrl, { full_page_writes: 'on', autovacuum: 'on' })
  await administer(stores.clusterUrl, 'checkpoint')
  const whole = await each('authorization')
  const image = (whole.walBytes - records.authorization * whole.count) / whole.walImages
  return { records, auditRows: audit, commands, image }
}

const countOf = (operation, count) => (operation === 'signIn' ? Math.ceil(count / 20) : count)

async function configure(url, settings) {
  const statements = Object.entries(settings).map(([name, value]) => `alter system set ${name} = ${value}`)
  await administer(url, ...statements, 'select pg_reload_conf()')
  await wait(SETTLED_MS)
}

/** Resolves when no response of a refresh is stored: an update of each row erases it after its retry window. */
async function untilErased(url) {
  const statement = 'select count(*) as rows from refresh_tokens where retry_answer is not null'
  while (Number((await administer(url, statement))[0].rows) > 0) await wait(250)
}

async function auditRows(url) {
  return Number((await administer(url, 'select count(*) as rows from audit_events'))[0].rows)
}

/** @returns for each table: `rows`, and bytes of the table (`heap`) and of each of its indexes; all buckets are one table */
export async function measureTables(databaseUrl, tables) {
  const parts = await administer(
    databaseUrl,
    `select t.relname as name, pg_table_size(t.oid) as heap, coalesce(x.relname, '') as index,
        coalesce(pg_relation_size(x.oid), 0) as bytes
      from pg_class t left join pg_index i on i.indrelid = t.oid left join pg_class x on x.oid = i.indexrelid
      where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace`
  )
  const result = {}
  for (const table of tables) {
    const own = parts.filter(({ name }) => name.replace(/_\d+$/, '') === table && (name === table) === !isBucket(table))
    const names = [...new Set(own.map(({ name }) => name))]
    const indexes = {}
    for (const { name, index, bytes } of own) {
      const kind = isBucket(table) ? index.replace(`${name}_`, '') : index
      indexes[kind] = (indexes[kind] ?? 0) + Number(bytes)
    }
    const heap = sum(names.map((name) => Number(own.find((part) => part.name === name).heap)))
    result[table] = { rows: await countRows(databaseUrl, names), heap, indexes }
  }
  return result
}

/** Fewer new rows are too few pages. */
const ENOUGH_ROWS = 1_000

/**
 * @param before see measureTables
 * @returns for each table: bytes of a row in the table (`heap`) and in each index. Of the growth, so that old versions of
 *   updated rows count as well; of all rows if there are few new ones
 */
export function rowBytesOf(before, after) {
  return Object.fromEntries(
    Object.entries(after).map(([table, { rows, heap, indexes }]) => {
      const isGrown = rows - before[table].rows >= ENOUGH_ROWS
      const from = isGrown ? before[table] : { rows: 0, heap: 0, indexes: {} }
      const each = (bytes, earlier = 0) => (bytes - earlier) / (rows - from.rows)
      const ofIndexes = Object.entries(indexes).map(([name, bytes]) => [name, each(bytes, from.indexes[name])])
      return [table, { heap: each(heap, from.heap), indexes: Object.fromEntries(ofIndexes) }]
    })
  )
}

const isBucket = (table) => table === 'access_tokens'

async function countRows(databaseUrl, names) {
  const counts = names.map((name) => `(select count(*) from only ${name})`)
  return Number((await administer(databaseUrl, `select ${counts.join(' + ')} as rows`))[0].rows)
}

/**
 * Deletes the oldest fifth of a table, as housekeeping does, and vacuums it, as autovacuum then does.
 * @returns for one row: bytes of the log of Postgres with whole pages, and processor seconds of Postgres
 */
export async function measureExpiry({ stores, meters }, table) {
  const url = stores.databaseUrls[0]
  const [{ pages }] = await administer(url, `select pg_relation_size('${table}') / 8192 as pages`)
  await administer(url, 'checkpoint')
  const before = await meters.read()
  const [{ rows }] = await administer(
    url,
    `with deleted as (delete from ${table} where ctid < '(${Math.ceil(pages / 5)},0)'::tid returning 1)
      select count(*) as rows from deleted`
  )
  await administer(url, `vacuum ${table}`)
  const spent = since(before, await meters.read())
  return { wal: spent.walBytes / Number(rows), postgres: spent.postgres / Number(rows) }
}

/** @returns bytes of Redis for a code, an exchanged code, a session, and a user's list of sessions */
export async function measureRedisBytes({ stores, meters, requests }, count) {
  const bytes = async () => (await meters.read()).bytes
  const codes = []
  const before = await bytes()
  await sendAll(async (number) => codes.push(await requests.code(number)), { count, senders: SENDERS })
  const withCodes = await bytes()
  await sendAll((number) => requests.exchange(codes[number]), { count, senders: SENDERS })
  const exchanged = await bytes()
  const sizes = await redisSizes(stores.redisUrl)
  const sizeOf = (kind) => sizes.find((size) => size.kind === kind).bytes
  return {
    code: (withCodes - before) / count,
    spentCode: (exchanged - before) / count,
    session: sizeOf('vk:session'),
    sessionList: sizeOf('vk:sessions')
  }
}

/**
 * Notifications as of other processes, to the running authorization servers and to `listeners` other connections.
 * @returns processor seconds of Postgres for each delivery (`delivered`) and each notification (`committed`), and of an
 *   authorization server for each notification (`received`); how many transactions that notify Postgres commits in a second,
 *   with 8 connections
 */
export async function measureNotifications({ stores, meters }, { perSecond, seconds, listeners }) {
  const databaseUrl = stores.databaseUrls[0]
  const clients = []
  for (let index = 0; index <= listeners; index++) {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    clients.push(client)
  }
  const [sender, ...others] = clients
  // Authorization servers ignore a pulse of another process.
  const notify = () => sender.query('select pg_notify($1, $2)', [CHANNEL, '{"pulse":"other","sent":0}'])
  const few = await spend(notify)
  for (const other of others) await other.query(`listen ${CHANNEL}`)
  const many = await spend(notify)
  for (const other of others) await other.query(`unlisten ${CHANNEL}`)
  const commits = await notifyingCommits(clients.slice(0, CONNECTIONS), seconds)
  for (const client of clients) await client.end()
  const delivered = (many.postgres - few.postgres) / few.count / listeners
  return {
    delivered,
    committed: Math.max(0, few.postgres / few.count - delivered),
    received: Math.max(0, few.authorizationServer / few.count),
    commitsPerSecond: commits
  }

  async function spend(send) {
    const idle = await timed(async () => wait(seconds * 1_000))
    const count = perSecond * seconds
    const busy = await timed(async () => {
      const begun = performance.now()
      for (let number = 0; number < count; number++) {
        await send()
        await wait(Math.max(0, begun + ((number + 1) * 1_000) / perSecond - performance.now()))
      }
    })
    const of = (name) => busy[name] - (idle[name] / idle.seconds) * busy.seconds
    return { count, postgres: of('postgres'), authorizationServer: of('authorizationServer') }
  }

  async function timed(work) {
    const before = await meters.read()
    await work()
    return since(before, await meters.read())
  }
}

/** Each transaction writes a row and notifies, as a revocation does. Postgres commits them one after the other. */
async function notifyingCommits(clients, seconds) {
  const end = performance.now() + seconds * 1_000
  let commits = 0
  await clients[0].query('create table if not exists notified (number integer)')
  const loop = async (client) => {
    while (performance.now() < end) {
      await client.query('with one as (insert into notified values (1)) select pg_notify($1, $2)', [
        CHANNEL,
        `{"pulse":"other","sent":${commits}}`
      ])
      commits++
    }
  }
  await Promise.all(clients.map(loop))
  return commits / seconds
}

/**
 * The hottest rows: each remembered consent locks the rows of its client and its scopes.
 * @returns how many users can allow one client in a second
 */
export async function measureConsents({ stores, target }, seconds) {
  const url = stores.databaseUrls[0]
  const users = await administer(url, 'select user_id from users')
  const database = connectPostgres(url, { connections: CONNECTIONS })
  const consents = createConsentStore(database)
  const end = performance.now() + seconds * 1_000
  let next = 0
  const loop = async () => {
    while (performance.now() < end && next < users.length) {
      const { user_id: userId } = users[next++]
      await consents.remember({ userId, clientId: target.client.id, audience: target.resourceUrl }, [SCOPE])
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  await database.close()
  return next / seconds
}

const sum = (values) => values.reduce((total, value) => total + value, 0)
