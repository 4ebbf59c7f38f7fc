import type { TestServer } from './authorization-server.js'

/** Every row of every table, as text; bytes are in hexadecimal. */
export async function dumpPostgres({ database }: Pick<TestServer, 'database'>): Promise<Record<string, string>> {
  const tables = await database.query<{ name: string }>({
    name: 'test_tables',
    text: "select table_name as name from information_schema.tables where table_schema = 'public'",
    values: []
  })
  const dumps = tables.map(async ({ name }) => {
    const rows = await database.query<{ row: string }>({
      name: `test_dump_${name}`,
      text: `select t::text as row from "${name}" t`,
      values: []
    })
    return [name, rows.map(({ row }) => row).join('\n')] as const
  })
  return Object.fromEntries(await Promise.all(dumps))
}

/** Every key and value of the Redis database, as text. */
export async function dumpRedis({ redis }: Pick<TestServer, 'redis'>): Promise<string> {
  const dumps = (await redis.keys('*')).map(async (key) => {
    const type = await redis.type(key)
    if (type === 'string') return `${key} ${await redis.get(key)}`
    if (type === 'list') return `${key} ${(await redis.lrange(key, 0, -1)).join(' ')}`
    if (type === 'hash') return `${key} ${JSON.stringify(await redis.hgetall(key))}`
    // The key expired after KEYS.
    if (type === 'none') return key
    throw new Error(`${key} has the type ${type}, which dumpRedis cannot read`)
  })
  return (await Promise.all(dumps)).join('\n')
}
