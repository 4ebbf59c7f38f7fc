import type { Limit } from '../../src/platform/rate-limits/rules.js'
import type { TestServer } from './authorization-server.js'
import { deleteKeys } from './delete-keys.js'

/** Sets a counter to this number of failures. */
export async function setCounter(
  { redis }: Pick<TestServer, 'redis'>,
  limit: Limit | undefined,
  count: number,
  milliseconds = 60_000
): Promise<void> {
  if (limit === undefined) throw new Error('there is no such limit')
  await redis.set(`vk:attempts:${limit.name}`, count, 'PX', milliseconds)
}

export async function counterOf({ redis }: Pick<TestServer, 'redis'>, limit: Limit | undefined): Promise<number> {
  return Number((await redis.get(`vk:attempts:${limit?.name}`)) ?? 0)
}

/** The number of counters. */
export async function countCounters({ redis }: Pick<TestServer, 'redis'>): Promise<number> {
  return (await redis.keys('vk:attempts:*')).length
}

export function clearCounters(server: Pick<TestServer, 'redis'>): Promise<void> {
  return deleteKeys(server, 'vk:attempts:*')
}
