import { hash } from 'node:crypto'
import { defineScript, type Redis, reached } from '../../../storage/redis/redis.js'
import type { ProviderSession } from '../../../storage/redis/sessions.js'

export type ProviderLogout = {
  issuer: string
  jti: string
  /** The time of the logout token, in seconds. */
  issuedAt: number
  /** When it arrived, in milliseconds on our clock. */
  receivedAt: number
  ends: { sid: string } | { subject: string }
  /** Logout tokens with this `jti` are refused for this time. */
  refusedSeconds: number
}

/** This is longer than any session lasts. */
const KEPT_SECONDS = 8 * 86_400

/**
 * Logouts that providers report. Each is stored under its session id or subject, with the time of its logout token. A session
 * has ended if its ID token is not newer. So a logout also ends a session that opens a moment later, because its sign-in was on
 * the way, and a repeated logout ends nothing new. Both times are of the provider's clock, in seconds. Within one second our
 * clock decides: a sign-in that began after the logout arrived is newer.
 */
export function createProviderLogoutStore(redis: Redis) {
  const raise = defineScript(redis, 'valetkeyRaiseLogout', RAISE, 1)

  return {
    /** @param requestId distinguishes a command that ioredis sent twice from a second token @returns false if `jti` was used */
    async note(
      { issuer, jti, issuedAt, receivedAt, ends, refusedSeconds }: ProviderLogout,
      requestId: string
    ): Promise<boolean> {
      const jtiKey = `vk:logout-jti:${hash('sha256', JSON.stringify([issuer, jti]), 'base64url')}`
      // A repeated token arrives later, and would end the sign-ins since then.
      const usedBy = await reached(redis.get(jtiKey))
      if (usedBy !== null && usedBy !== requestId) return false
      // This comes before the jti is used up: if it fails, the provider may send the same token again.
      await raise(key(issuer, ends), issuedAt, KEPT_SECONDS, receivedAt)
      const added = await reached(redis.set(jtiKey, requestId, 'EX', Math.max(1, refusedSeconds), 'NX'))
      return added === 'OK' || (await reached(redis.get(jtiKey))) === requestId
    },

    async hasEnded({ issuer, subject, sid, ...session }: ProviderSession): Promise<boolean> {
      const keys = [key(issuer, { subject }), ...(sid === undefined ? [] : [key(issuer, { sid })])]
      const marks = await Promise.all(keys.map((each) => reached(redis.get(each))))
      return marks.some((mark) => mark !== null && endsSession(mark, session))
    }
  }
}

function endsSession(mark: string, { issuedAt, startedAt }: Pick<ProviderSession, 'issuedAt' | 'startedAt'>): boolean {
  const [loggedOutAt = 0, receivedAt = 0] = mark.split(' ').map(Number)
  const isSameSecond = Math.floor(issuedAt) === Math.floor(loggedOutAt)
  return issuedAt <= loggedOutAt && !(isSameSecond && startedAt > receivedAt)
}

export type ProviderLogoutStore = ReturnType<typeof createProviderLogoutStore>

function key(issuer: string, ends: ProviderLogout['ends']): string {
  return `vk:provider-logout:${hash('sha256', JSON.stringify([issuer, ends]), 'base64url')}`
}

// An older logout token that arrives late must not replace a newer one.
const RAISE = `
local stored = redis.call('GET', KEYS[1])
local issued, received = string.match(stored or '0 0', '^(%S+) (%S+)$')
local added = tonumber(ARGV[1])
local newer = added > tonumber(issued) or (added == tonumber(issued) and tonumber(ARGV[3]) > tonumber(received))
if newer then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[3], 'EX', ARGV[2])
else
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return 1
`
