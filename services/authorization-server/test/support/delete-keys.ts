import type { TestServer } from './authorization-server.js'

/** Deletes the keys that match the pattern, one by one: a Redis Cluster has them on several nodes. */
export async function deleteKeys({ redis }: Pick<TestServer, 'redis'>, pattern: string): Promise<void> {
  for (const key of await redis.keys(pattern)) await redis.del(key)
}
