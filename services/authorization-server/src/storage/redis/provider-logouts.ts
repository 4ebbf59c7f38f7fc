import { hash } from 'node:crypto'
import { defineScript, type Redis, reached } from './redis.js'

/** A session that began at a provider. */
export type ProviderSession = {
  issuer: string
  subject: string
  /** Session id at the provider (Back-Channel Logout 1.0 §2.1). */
  sid?: string | undefined
  /** `iat` of the ID token, in seconds. */
  issuedAt: number
}

export type ProviderLogout = {
  issuer: string
  jti: string
  /** Of the logout token, in seconds. */
  issuedAt: number
  ends: { sid: string } | { subject: string }
  /** Logout tokens with this `jti` are refused for this time. */
  refusedSeconds: number
}

/** Longer than any session lasts. */
const KEPT_SECONDS = 8 * 86_400

/**
 * Logouts that providers report. Each is stored under its session id or subject, with the time of its logout token. A session
 * has ended if its ID token is not newer. So a logout also ends a session that opens a moment later, because its sign-in was on
 * the way, and a repeated logout ends nothing new. Both times are of the provider's clock.
 */
export function createProviderLogoutStore(redis: Redis) {
  const raise = defineScript(redis, 'valetkeyRaiseLogout', RAISE, 1)

  return {
    /** @param requestId distinguishes a command that ioredis sent twice from a second token @returns false if `jti` was used */
    async note({ issuer, jti, issuedAt, ends, refusedSeconds }: ProviderLogout, requestId: string): Promise<boolean> {
      // Before jti is used up: if this fails, the provider may send the same token again.
      await raise(key(issuer, ends), issuedAt, KEPT_SECONDS)
      const jtiKey = `vk:logout-jti:${hash('sha256', JSON.stringify([issuer, jti]), 'base64url')}`
      const added = await reached(redis.set(jtiKey, requestId, 'EX', Math.max(1, refusedSeconds), 'NX'))
      return added === 'OK' || (await reached(redis.get(jtiKey))) === requestId
    },

    async hasEnded({ issuer, subject, sid, issuedAt }: ProviderSession): Promise<boolean> {
      const keys = [key(issuer, { subject }), ...(sid === undefined ? [] : [key(issuer, { sid })])]
      const times = await Promise.all(keys.map((each) => reached(redis.get(each))))
      return times.some((time) => time !== null && issuedAt <= Number(time))
    }
  }
}

export type ProviderLogoutStore = ReturnType<typeof createProviderLogoutStore>

function key(issuer: string, ends: ProviderLogout['ends']): string {
  return `vk:provider-logout:${hash('sha256', JSON.stringify([issuer, ends]), 'base64url')}`
}

// An older logout token that arrives late must not replace a newer one.
const RAISE = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0')
redis.call('SET', KEYS[1], tostring(math.max(known, tonumber(ARGV[1]))), 'EX', ARGV[2])
return 1
`
