// Measures bytes of rows in Postgres and of records in Redis.
import { sendAll } from '../lib/send-all.mjs'
import { redisSizes } from '../lib/store-sizes.mjs'
import { administer } from '../lib/stores.mjs'

const SENDERS = 4

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

const sum = (values) => values.reduce((total, value) => total + value, 0)
