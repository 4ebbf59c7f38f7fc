import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestRedis } from '@valetkey/dev-stack'
import type { Database } from '@valetkey/service-kit'
import {
  createProviderLogoutStore,
  type ProviderLogout
} from '../../../../src/features/foreign-sign-in/providers/provider-logout-store.js'
import { REDIS_KINDS } from '../../../support/redis-kinds.js'

const withoutSessions: Database = { query: async () => [], close: async () => {} }

describe.each(REDIS_KINDS)('logouts of providers on $name', ({ create }) => {
  let redis: TestRedis
  let logouts: ReturnType<typeof createProviderLogoutStore>

  beforeAll(() => {
    redis = create()
    logouts = createProviderLogoutStore(redis.client, withoutSessions)
  })
  afterAll(() => redis.close())

  const issuer = 'https://id.example'
  const logout = (change: Partial<ProviderLogout> & Pick<ProviderLogout, 'ends'>): ProviderLogout => ({
    issuer,
    jti: crypto.randomUUID(),
    issuedAt: 1_000,
    receivedAt: 1_000_500,
    refusedSeconds: 60,
    ...change
  })
  const session = (subject: string, issuedAt: number, sid?: string) => ({
    issuer,
    subject,
    issuedAt,
    sid,
    startedAt: 1_000_000
  })

  test('end sessions whose ID token is not newer, and no others', async () => {
    await logouts.note(logout({ ends: { subject: 'anna' } }), 'request')
    const times = [999, 1_000, 1_001]
    const ended = await Promise.all(times.map((time) => logouts.hasEnded(session('anna', time))))
    expect(ended).toEqual([true, true, false])
    expect(await logouts.hasEnded(session('bert', 1))).toBe(false)
    expect(await logouts.hasEnded({ ...session('anna', 1), issuer: 'https://other.example' })).toBe(false)
  })

  test('of the same second end the sessions whose sign-in began before, also when the token is repeated', async () => {
    const token = logout({ ends: { subject: 'hugo' } })
    const isEnded = (startedAt: number) => logouts.hasEnded({ ...session('hugo', 1_000), startedAt })
    await logouts.note(token, 'request')
    expect([await isEnded(1_000_500), await isEnded(1_000_501)]).toEqual([true, false])
    await logouts.note({ ...token, receivedAt: 1_000_900 }, 'another request')
    expect(await isEnded(1_000_501)).toBe(false)
    await logouts.note({ ...token, jti: 'another', receivedAt: 1_000_900 }, 'another request')
    expect([await isEnded(1_000_501), await isEnded(1_000_901)]).toEqual([true, false])
    expect(await logouts.hasEnded({ ...session('hugo', 999), startedAt: 1_000_901 })).toBe(true)
  })

  test('of one session id end only that; a subject that looks like a session id is not mixed up', async () => {
    await logouts.note(logout({ ends: { sid: 'cora' } }), 'request')
    expect(await logouts.hasEnded(session('dora', 1, 'cora'))).toBe(true)
    expect(await logouts.hasEnded(session('dora', 1, 'other'))).toBe(false)
    expect(await logouts.hasEnded(session('cora', 1))).toBe(false)
  })

  test('that are older and arrive later do not replace newer ones', async () => {
    await logouts.note(logout({ ends: { subject: 'emil' }, issuedAt: 2_000 }), 'request')
    await logouts.note(logout({ ends: { subject: 'emil' }, issuedAt: 1_000 }), 'request')
    expect(await logouts.hasEnded(session('emil', 1_500))).toBe(true)
  })

  test('are first once for each jti and issuer; a command that was sent twice is still the first', async () => {
    const token = logout({ ends: { subject: 'fred' }, jti: 'one' })
    expect(await logouts.note(token, 'request 1')).toBe(true)
    expect(await logouts.note(token, 'request 1')).toBe(true)
    expect(await logouts.note(token, 'request 2')).toBe(false)
    expect(await logouts.note({ ...token, issuer: 'https://other.example' }, 'request 2')).toBe(true)
  })

  test('are kept longer than an identity waits to be linked, and jti as long as it is refused', async () => {
    await logouts.note(logout({ ends: { subject: 'gina' }, refusedSeconds: 60 }), 'request')
    const marks = await redis.client.keys('vk:provider-logout:*')
    const used = await redis.client.keys('vk:logout-jti:*')
    const lifetimes = await Promise.all([...marks].map((key) => redis.client.ttl(key)))
    expect(Math.min(...lifetimes)).toBeGreaterThan(3 * 600)
    expect(Math.max(...(await Promise.all(used.map((key) => redis.client.ttl(key)))))).toBeLessThanOrEqual(60)
  })
})
