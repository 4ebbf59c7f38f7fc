// Both services with a counting relay before each store, and the operations to count.
import { COUNTED_HEAP } from './heap.mjs'
import { operationsOf } from './operations.mjs'
import { startRelay } from './relay.mjs'
import { sendAll } from './send-all.mjs'
import { administer } from './stores.mjs'
import { startValetkey } from './valetkey.mjs'
import { postgresReader, redisReader } from './wire-readers.mjs'

/** Postgres sends a page of this size in one piece. With larger pages the number of reads is random. */
const PAGE_SIZE = 20
const TOKENS_IN_USE = 20
const SENDERS = 32

/**
 * @param databaseUrls as for startValetkey
 * @param environment settings of the services
 * @param node path of the Node that runs them
 * @param refreshes whether the client gets refresh tokens
 * @param counts `redisOwn` and `walPosition`: counters of the stores
 */
export async function startCounted({ databaseUrls, redisUrl, counts, ...options }) {
  const sql = await startRelay(databaseUrls[0], postgresReader)
  const redis = await startRelay(redisUrl, redisReader)
  const target = await startValetkey({
    ...options,
    databaseUrls: databaseUrls.map(sql.through),
    redisUrl: redis.through(redisUrl),
    nodeOptions: COUNTED_HEAP
  })
  const metadata = new URL('/.well-known/oauth-authorization-server', target.tokenUrl)
  const filesUrl = `${target.filesUrl}?page_size=${PAGE_SIZE}`
  return {
    ...counts,
    sql,
    redis,
    pids: target.pids,
    children: target.children,
    /** What was sent to the stores until now. */
    names: () => [...countsOf('sql', sql), ...countsOf('redis', redis)],
    /** A request that needs no store: its response shows that the server has read all earlier requests. */
    turn: async () => (await fetch(metadata)).arrayBuffer(),
    /** Sets the last use of all grants to more than an hour ago. */
    ageUses: () => administer(databaseUrls[0], `update grants set last_used_at = now() - interval '2 hours'`),
    operations: await countedOperations(operationsOf({ ...target, filesUrl, pageSize: PAGE_SIZE }))
  }
}

async function countedOperations({ authorize, exchange, exchangeForBoth, introspect, files, refresh }) {
  const codes = (count) => collect(count, authorize)
  const tokens = async (count, exchangeOne) => {
    const given = await codes(count)
    return collect(count, (number) => exchangeOne(given[number]))
  }
  const forRefresh = async (code) => (await exchangeForBoth(code)).refreshToken
  const few = await tokens(TOKENS_IN_USE, exchange)
  const inUse = async (count) => Array.from({ length: count }, (_, number) => few[number % few.length])
  return {
    code: { prepare: async (count) => Array.from({ length: count }), send: authorize },
    exchange: { prepare: codes, send: exchange },
    refresh: { prepare: (count) => tokens(count, forRefresh), send: refresh },
    introspection: { prepare: inUse, send: introspect },
    'introspection of other grants': { prepare: (count) => tokens(count, exchange), send: introspect },
    files: { prepare: inUse, send: files }
  }
}

function countsOf(store, relay) {
  return [...relay.counts()].map(([name, count]) => ({ store, name, count, key: `${store} ${name}` }))
}

async function collect(count, send) {
  const answers = Array.from({ length: count })
  const one = async (number) => {
    answers[number] = await send(number)
  }
  await sendAll(one, { count, senders: SENDERS })
  return answers
}
