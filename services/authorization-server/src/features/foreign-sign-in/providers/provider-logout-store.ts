import { hash } from 'node:crypto'
import { type Database, defineStatement } from '@valetkey/service-kit'
import type { ProviderSession } from '../../../storage/postgres/sessions.js'
import { defineScript, type Redis, reached } from '../../../storage/redis/redis.js'

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

/** Longer than it takes from an ID token to its session: a proposal to link an identity waits for ten minutes. */
const KEPT_SECONDS = 3_600

/** Whether the logout ends session `s`, as `endsSession` says. */
const endedBy = <const Member extends 'subject' | 'sid'>(member: Member) =>
  `s.way ->> 'kind' = 'provider' and s.way ->> '${member}' = :value and s.way ->> 'issuer' = :issuer
    and (s.way ->> 'issuedAt')::numeric <= :issuedAt::numeric
    and not (floor((s.way ->> 'issuedAt')::numeric) = floor(:issuedAt::numeric)
      and (s.way ->> 'startedAt')::numeric > :receivedAt::numeric)` as const

/** The users are locked first, as in every statement that ends several sessions. */
const endSessions = <const Member extends 'subject' | 'sid'>(member: Member) =>
  defineStatement(
    `end_sessions_of_provider_${member}`,
    `with owners as (
      select user_id from users where user_id in (select s.user_id from sessions s where ${endedBy(member)})
      order by user_id for no key update)
    delete from sessions s using owners where s.user_id = owners.user_id and ${endedBy(member)}` as const
  )

const endSessionsOf = { subject: endSessions('subject'), sid: endSessions('sid') }

/**
 * Logouts that providers report. Each deletes the rows of its sessions: those whose ID token is not newer than the logout token.
 * It is also stored for an hour, under its session id or subject, for sessions that open a moment later because their sign-in was
 * on the way. A repeated logout ends nothing new. Both times are of the provider's clock, in seconds. Within one second our clock
 * decides: a sign-in that began after the logout arrived is newer.
 */
export function createProviderLogoutStore(redis: Redis, database: Database) {
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
      // Afterwards: a session that this does not find opens later, and then finds what was stored.
      const [member, value] = 'sid' in ends ? (['sid', ends.sid] as const) : (['subject', ends.subject] as const)
      await database.query(endSessionsOf[member]({ issuer, value, issuedAt, receivedAt }))
      const added = await reached(redis.set(jtiKey, requestId, 'EX', Math.max(1, refusedSeconds), 'NX'))
      return added === 'OK' || (await reached(redis.get(jtiKey))) === requestId
    },

    /** Whether a logout came before the session was opened. */
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
