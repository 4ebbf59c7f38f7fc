import type { TokenHash } from '@valetkey/oauth-protocol'
import type { RecordAuthentication } from '../../storage/redis/record-authentication.js'
import { defineScript, type Redis } from '../../storage/redis/redis.js'

/** How long a browser that opened the request may continue it: as long as a request whose user is being asked is kept. */
const HELD_MS = 3_600_000

/** Browsers that may open one request. Programs that look at links are some of them; more are an attack. */
const MOST_BROWSERS = 20

/**
 * Pushed authorization requests in Redis, one hash for each, under the hash of its token:
 *
 *     body            MAC and query
 *     used            the decision that used the request
 *     browser:<id>    for each browser that opened it
 *
 * Every step is one script with one key, so that a Redis Cluster can run it.
 */
export function createPushedRequestStore(redis: Redis, records: RecordAuthentication) {
  const putRequest = defineScript(redis, 'valetkeyPutPushedRequest', PUT, 1)
  const openRequest = defineScript(redis, 'valetkeyOpenPushedRequest', OPEN, 1)
  const useRequest = defineScript(redis, 'valetkeyUsePushedRequest', USE, 1)
  const returnRequest = defineScript(redis, 'valetkeyReturnPushedRequest', RETURN, 1)

  async function giveBack(hash: TokenHash, decision: string): Promise<void> {
    await returnRequest(keyOf(hash), decision)
  }

  return {
    /** @param query the parameters, form-encoded @param lifetimeMs in which browsers may open the request */
    async put(hash: TokenHash, query: string, lifetimeMs: number): Promise<void> {
      const key = keyOf(hash)
      await putRequest(key, records.protect(key, query), lifetimeMs)
    },

    /**
     * Opens the request in a browser: in its lifetime, or if this browser has opened it before. The first visit extends the life of
     * the record, not the time in which others may open it.
     * @param includesUsed also returns a request that was used, to a browser that opened it before
     * @returns the query
     */
    async open(hash: TokenHash, browser: string, includesUsed: boolean): Promise<string | undefined> {
      const key = keyOf(hash)
      const body = await openRequest(key, `browser:${browser}`, includesUsed ? 1 : 0, HELD_MS, MOST_BROWSERS)
      return typeof body === 'string' ? records.open(key, body) : undefined
    },

    /** @param decision a random id. @returns false if another decision has used the request, or it has expired */
    async use(hash: TokenHash, decision: string): Promise<boolean> {
      try {
        return (await useRequest(keyOf(hash), decision)) === 1
      } catch (error) {
        // The script may have run, or may run later. Undo it in the background.
        giveBack(hash, decision).catch(() => {})
        throw error
      }
    },

    /** Undoes `use` for a decision that failed. */
    giveBack
  }
}

export type PushedRequestStore = ReturnType<typeof createPushedRequestStore>

const keyOf = (hash: TokenHash): string => `vk:par:${hash.toString('hex')}`

// The driver sends a script again if the connection breaks before the response, so each gives the same result when it runs twice.

const PUT = `
redis.call('HSET', KEYS[1], 'body', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`

// Arguments: the browser, whether a used request is included, HELD_MS, MOST_BROWSERS. What is left beyond HELD_MS after the first
// visit is the time in which other browsers may open the request. Redis measures it, so no process clock matters.
const OPEN = `
local body = redis.call('HGET', KEYS[1], 'body')
local used = redis.call('HEXISTS', KEYS[1], 'used') == 1
if not body or (used and ARGV[2] == '0') then return false end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return body end
if used then return false end
local left = redis.call('PTTL', KEYS[1])
local fields = redis.call('HLEN', KEYS[1])
if fields == 1 then
  redis.call('PEXPIRE', KEYS[1], string.format('%d', left + tonumber(ARGV[3])))
elseif left <= tonumber(ARGV[3]) or fields > tonumber(ARGV[4]) then
  return false
end
redis.call('HSET', KEYS[1], ARGV[1], '')
return body
`

const USE = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('HSETNX', KEYS[1], 'used', ARGV[1]) == 1 then return 1 end
if redis.call('HGET', KEYS[1], 'used') == ARGV[1] then return 1 end
return 0
`

const RETURN = `
if redis.call('HGET', KEYS[1], 'used') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'used')
`
