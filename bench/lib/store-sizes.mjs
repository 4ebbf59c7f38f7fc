// Measures the bytes that the stores need for each kind of record.
import { Redis } from 'ioredis'
import { administer } from './stores.mjs'

/** @returns for each kind of table: rows, and bytes of a row with and without indexes; all buckets are one kind */
export async function tableSizes(databaseUrl) {
  const tables = await administer(
    databaseUrl,
    `select relname as name, pg_table_size(oid) as heap, pg_indexes_size(oid) as indexes from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`
  )
  const kinds = new Map()
  for (const { name, heap, indexes } of tables) {
    const [{ rows }] = await administer(databaseUrl, `select count(*) as rows from only ${name}`)
    const kind = name.replace(/_\d+$/, '')
    const sum = kinds.get(kind) ?? { rows: 0, heap: 0, indexes: 0 }
    kinds.set(kind, {
      rows: sum.rows + Number(rows),
      heap: sum.heap + Number(heap),
      indexes: sum.indexes + Number(indexes)
    })
  }
  return [...kinds].map(([name, size]) => ({ name, ...size })).filter(({ rows }) => rows >= 1_000)
}

/** @returns for each kind of key: the number of keys, and their mean size in memory */
export async function redisSizes(redisUrl) {
  const redis = new Redis(redisUrl)
  const kinds = new Map()
  for await (const keys of redis.scanStream({ match: 'vk:*', count: 1_000 })) {
    const commands = redis.pipeline()
    for (const key of keys) commands.memory('USAGE', key)
    const answers = await commands.exec()
    for (const [index, key] of keys.entries()) {
      const kind = /^vk:[a-z-]+/.exec(key)[0]
      const sum = kinds.get(kind) ?? { count: 0, bytes: 0 }
      kinds.set(kind, { count: sum.count + 1, bytes: sum.bytes + Number(answers[index][1] ?? 0) })
    }
  }
  redis.disconnect()
  return [...kinds].map(([kind, { count, bytes }]) => ({ kind, count, bytes: bytes / count }))
}

/** @returns the current number of client connections to each database */
export async function connectionsOf(databaseUrl) {
  const [{ count }] = await administer(
    databaseUrl,
    `select count(*) from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
  )
  return Number(count)
}
