import { mostResidentMegabytes, residentMegabytes } from '../../packages/dev-stack/lib/processes/resident-megabytes.mjs'
import { administer } from '../../packages/dev-stack/lib/stores/administer.mjs'
import { redisMemory } from '../../packages/dev-stack/lib/stores/redis-memory.mjs'

const TABLES = `
  select relname as name, pg_total_relation_size(oid) as bytes from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`

/** Sizes of the stores. @param world result of startWorld */
export async function measureStores({ databaseUrls: [databaseUrl], redis, fleet }) {
  const tables = []
  for (const { name, bytes } of await administer(databaseUrl, TABLES)) {
    const [{ rows }] = await administer(databaseUrl, `select count(*)::integer as rows from only ${name}`)
    if (rows > 0) tables.push({ name, rows, kilobytes: Math.round(bytes / 1_024) })
  }
  const { megabytes, keys } = await redisMemory(redis.url)
  const instances = Object.values(fleet.instances).flat()
  return {
    redisMegabytes: megabytes,
    redisKeys: keys,
    tables,
    auditRows: tables.find(({ name }) => name === 'audit_events')?.rows ?? 0,
    processes: instances.map(({ name, handle: { child } }) => ({
      name,
      megabytes: Math.round(residentMegabytes(child.pid)),
      mostMegabytes: Math.round(mostResidentMegabytes(child.pid))
    }))
  }
}
