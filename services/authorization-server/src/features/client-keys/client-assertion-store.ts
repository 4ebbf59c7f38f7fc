import { createHash } from 'node:crypto'
import { defineScript, type Redis } from '../../storage/redis/redis.js'

/** Assertions that were used, so that each authenticates one request (RFC 7523 §3): at any endpoint of any process. */
export function createClientAssertionStore(redis: Redis) {
  const use = defineScript(redis, 'valetkeyUseAssertion', USE, 1)
  return {
    /**
     * @param attempt unique for each request
     * @param milliseconds until no process accepts the assertion any more
     * @returns false if another request has used an assertion with this `jti`
     * @throws {StoreUnavailable}
     */
    async use(clientId: string, jti: string, attempt: string, milliseconds: number): Promise<boolean> {
      // The hash of both, so that a client cannot fill Redis with long keys or use up the jti of another client.
      const hash = createHash('sha256').update(`${clientId}\n${jti}`).digest('base64url')
      return (await use(`vk:assertion:{${hash}}`, attempt, milliseconds)) === attempt
    }
  }
}

export type ClientAssertionStore = ReturnType<typeof createClientAssertionStore>

// Returns the attempt that was first: ioredis sends a script again if the connection breaks before the response. `SET` with `NX`
// and `GET` together needs Redis 7.
const USE = `
local first = redis.call('GET', KEYS[1])
if first then return first end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
`
