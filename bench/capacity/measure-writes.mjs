// Measures what requests write, and what the deletion of expired rows costs.
import { setTimeout as wait } from 'node:timers/promises'
import { sendAll } from '../lib/send-all.mjs'
import { administer } from '../lib/stores.mjs'
import { since } from './meters.mjs'

const SENDERS = 4
/** The other operations write nothing (`npm run bench:gates`). */
const WRITING = ['authorization', 'refresh', 'revocation', 'signIn']
/** Audit events are written within 250 ms, settings are read within a second. */
const SETTLED_MS = 1_500
/** An idle connection of Postgres publishes its statistics within ten seconds. */
const PUBLISHED_MS = 11_000

/**
 * Must precede other requests: Valetkey writes at most 3,000 single events `code_issued` in a minute (docs/audit.md).
 * @param count requests of each operation
 * @returns for one request of each operation: `records`, bytes of the log of Postgres without whole pages; `auditRows`;
 *   `commands` of Redis. And `image`: bytes of a whole page
 */
export async function measureWrites({ stores, meters }, { send }, count) {
  const databaseUrl = stores.databaseUrls[0]
  const each = async (operation, settledMs = SETTLED_MS) => {
    const before = { ...(await meters.read()), audit: await auditRows(databaseUrl) }
    await sendAll(send[operation], { count: countOf(operation, count), senders: SENDERS })
    await untilErased(databaseUrl)
    await wait(settledMs)
    const spent = since(before, { ...(await meters.read()), audit: await auditRows(databaseUrl) })
    return { ...spent, count: countOf(operation, count) }
  }
  await untilErased(databaseUrl)
  await configure(stores.clusterUrl, { full_page_writes: 'off', autovacuum: 'off' })
  const records = {}
  const audit = {}
  const commands = {}
  for (const operation of WRITING) {
    const spent = await each(operation)
    records[operation] = spent.walBytes / spent.count
    audit[operation] = Math.round(spent.audit / spent.count)
    commands[operation] = Math.round(spent.commands / spent.count)
  }
  await configure(stores.clusterUrl, { full_page_writes: 'on', autovacuum: 'on' })
  await wait(PUBLISHED_MS)
  await administer(stores.clusterUrl, 'checkpoint')
  const whole = await each('authorization', PUBLISHED_MS)
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
  const statement = 'select count(*) as rows from refresh_tokens where retry_response is not null'
  while (Number((await administer(url, statement))[0].rows) > 0) await wait(250)
}

async function auditRows(url) {
  return Number((await administer(url, 'select count(*) as rows from audit_events'))[0].rows)
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
