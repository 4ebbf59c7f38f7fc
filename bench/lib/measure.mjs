import { performance } from 'node:perf_hooks'
import { familySeconds, machineSeconds, processSeconds } from './process-seconds.mjs'
import { sendAll } from './send-all.mjs'

/** How many requests are under way at a time, each on a connection of its own. */
export const SENDERS = 32

/**
 * Sends `count` requests and charges whoever worked for them.
 * @param pids the processes of the servers; `stores`: see storeProcesses
 * @param send is told the number of each request
 * @returns milliseconds of processor time a request, of the servers, of Postgres and of Redis; requests a second; and how
 *   many cores somebody else was using
 */
export async function measure({ pids, stores, count, send, senders = SENDERS }) {
  const before = account(pids, stores)
  await sendAll(send, { count, senders })
  const after = account(pids, stores)
  const spent = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name]]))
  const { seconds, machine, load, server, postgres, redis } = spent
  const each = (amount) => (amount / count) * 1_000
  return {
    ...{ server: each(server), postgres: each(postgres), redis: each(redis), perSecond: count / seconds },
    other: Math.max(0, (machine - load - server - postgres - redis) / seconds)
  }
}

function account(pids, stores) {
  const { user, system } = process.cpuUsage()
  return {
    seconds: performance.now() / 1_000,
    machine: machineSeconds(),
    load: (user + system) / 1e6,
    server: processSeconds(pids),
    postgres: familySeconds(stores.postgres),
    redis: familySeconds(stores.redis)
  }
}
