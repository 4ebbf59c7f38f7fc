import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { familySeconds, machineSeconds, processSeconds } from './process-seconds.mjs'
import { sendAll } from './send-all.mjs'

/** The number of concurrent requests, each on its own connection. */
export const SENDERS = 32

/**
 * Sends `count` requests and measures the processor time of the processes involved.
 * @param pids the processes of the servers; `stores`: see storeProcesses
 * @param send gets the number of each request
 * @param restMs how long background work after the last request is included
 * @returns milliseconds of processor time for each request: of the servers, of Postgres, of Redis and in total; requests
 *   per second; and the number of cores that other processes used
 */
export async function measure({ pids, stores, count, send, senders = SENDERS, restMs = 0 }) {
  const before = account(pids, stores)
  await sendAll(send, { count, senders })
  const seconds = performance.now() / 1_000 - before.seconds
  await wait(restMs)
  const after = account(pids, stores)
  const spent = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name]]))
  const { server, postgres, redis } = spent
  const total = server + postgres + redis
  const each = (amount) => (amount / count) * 1_000
  return {
    server: each(server),
    postgres: each(postgres),
    redis: each(redis),
    total: each(total),
    perSecond: count / seconds,
    other: Math.max(0, (spent.machine - spent.load - total) / spent.seconds)
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
