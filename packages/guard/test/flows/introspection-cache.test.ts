import { describe, expect, jest, test } from '@jest/globals'
import { advanceClock, cachedIntrospectors, delayAnswers, live } from '../cached-introspector.js'
import { until } from '../until.js'

const world = cachedIntrospectors()
const { build } = world

describe('without a feed, a result is cached', () => {
  test('for `seconds`', async () => {
    const { ask, cacheState } = build({ seconds: 60 }, { withFeed: false })
    expect(cacheState()).toBe('live')
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(1)
    advanceClock(60_001)
    expect(await ask()).toBe(true)
    expect(world.server.seen.introspections).toBe(2)
  })

  test('not longer than the token is valid (RFC 7662 §4)', async () => {
    world.server.answers.set('good', { ...live, exp: Math.floor(Date.now() / 1000) + 20 })
    const { ask } = build({ seconds: 60 }, { withFeed: false })
    await ask()
    advanceClock(21_000)
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test.each([
    { name: 'the server’s clock is an hour ahead', server: 3_600_000, api: 0, calls: 2 },
    { name: 'this API’s clock is an hour ahead', server: 0, api: 3_600_000, calls: 2 },
    { name: 'this API’s clock is an hour behind', server: 0, api: -3_600_000, calls: 1 },
    { name: 'both are right', server: 0, api: 0, calls: 1 }
  ])('for the remaining lifetime by the clock that is ahead: $name', async ({ server, api, calls }) => {
    const now = Date.now()
    world.server.answers.set('good', { ...live, exp: Math.floor(now / 1000) + 20 })
    world.server.clockAhead(server - api)
    jest.spyOn(Date, 'now').mockReturnValue(now + api)
    const { ask } = build({ seconds: 60 }, { withFeed: false })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(calls)
    advanceClock(21_000)
    await ask()
    expect(world.server.seen.introspections).toBe(calls + 1)
  })

  test('without jti and grant_id as well', async () => {
    world.server.answers.set('good', { active: true, scope: 'a' })
    const { ask } = build({}, { withFeed: false })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(1)
  })

  test('not at all with 0 seconds', async () => {
    const { ask, cacheState } = build({ seconds: 0 })
    await ask()
    await ask()
    expect(world.server.seen).toMatchObject({ introspections: 2, subscriptions: 0 })
    expect(cacheState()).toBe('off')
  })
})

describe('with a feed,', () => {
  test('only results of calls after the first proof are cached', async () => {
    world.server.sendsProofs(false)
    const { ask, cacheState, untilLive } = build()
    await until(() => world.server.seen.nonces > 0)
    expect(cacheState()).toBe('waiting')
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
    world.server.sendsProofs(true)
    await untilLive()
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(3)
  })

  test.each([
    { name: 'token', members: { jti: 'j' } },
    { name: 'grant', members: { grant_id: 'g' } },
    { name: 'user', members: { sub: 'alice' } },
    { name: 'client', members: { client_id: 'printer' } }
  ])('the revocation of its $name invalidates a cached result', async ({ members }) => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    world.server.answers.delete('good')
    expect(await ask()).toBe(true)
    world.server.revoke(members)
    await until(async () => !(await ask()))
    expect(world.server.seen.introspections).toBe(2)
  })

  test('the revocation of another token does not invalidate it', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    world.server.answers.set('other', { ...live, jti: 'other', grant_id: 'other' })
    await ask()
    await ask('other')
    world.server.revoke({ jti: 'other' })
    await until(async () => {
      await ask('other')
      return world.server.seen.introspections === 3
    })
    await ask()
    expect(world.server.seen.introspections).toBe(3)
  })

  test('a result in transit during the revocation of its grant is not cached', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    world.server.answers.set('other', { ...live, jti: 'other', grant_id: 'other' })
    await ask('other')
    const gate = delayAnswers(world.server, 'good')
    const earlier = ask()
    await until(() => world.server.seen.introspections === 2)
    world.server.answers.delete('good')
    world.server.revoke({ grant_id: 'g' })
    // Events arrive in order: after this one, the guard has also received the one before it.
    world.server.answers.delete('other')
    world.server.revoke({ jti: 'other' })
    await until(async () => !(await ask('other')))
    const later = ask()
    gate.open()
    // The first request came before the revocation and may be accepted; the second must not be.
    expect([await earlier, await later]).toEqual([true, false])
    expect(await ask()).toBe(false)
  })

  test('the lease ends by the clock alone, and the next proof makes cached results usable again', async () => {
    const { ask, cacheState, untilLive } = build()
    await untilLive()
    await ask()
    world.server.sendsProofs(false)
    advanceClock(2_001)
    expect(cacheState()).toBe('waiting')
    await ask()
    expect(world.server.seen.introspections).toBe(2)
    world.server.sendsProofs(true)
    await untilLive()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test.each([
    { name: 'the end of the stream', act: () => world.server.endStreams() },
    { name: 'a reconnection', act: () => world.server.breakConnections() },
    { name: 'a missing event', act: () => world.server.revoke({ jti: 'other' }, { skip: 1 }) }
  ])('$name empties the cache', async ({ act }) => {
    const { ask, untilLive, statistics } = build()
    await untilLive()
    await ask()
    const since = performance.now()
    act()
    // After a broken connection the old lease continues, so this waits for a new one.
    await until(() => (statistics().feed?.leaseAgeMs ?? Number.POSITIVE_INFINITY) < performance.now() - since)
    expect(world.server.seen.subscriptions).toBe(2)
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test('a request that joined a call makes another call if the lease ended meanwhile', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const gate = delayAnswers(world.server, 'good')
    const first = ask()
    await until(() => world.server.seen.introspections === 1)
    const joined = ask()
    world.server.answers.delete('good')
    advanceClock(2_001)
    gate.open()
    expect(await first).toBe(true)
    expect(await joined).toBe(false)
    expect(world.server.seen.introspections).toBe(2)
  })

  test('a result without jti, grant_id and client_id is not cached', async () => {
    world.server.answers.set('good', { active: true, scope: 'a', sub: 'alice' })
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test('if the feed cannot be reached, every request is introspected', async () => {
    const { ask, cacheState } = build({ revocationsUrl: 'http://127.0.0.1:1/revocations' })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(2)
    expect(cacheState()).toBe('waiting')
  })

  test('a refused stream with an endless body does not delay the next attempt', async () => {
    world.server.refuseStreams(1)
    const { untilLive } = build()
    await untilLive()
    expect(world.server.seen.subscriptions).toBe(2)
  })

  test('a token found inactive during an outage of the feed stays inactive after it', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    world.server.sendsProofs(false)
    advanceClock(2_001)
    world.server.answers.delete('good')
    expect(await ask()).toBe(false)
    world.server.sendsProofs(true)
    // This is longer than inactive tokens are cached, and shorter than a stream without a proof is kept.
    advanceClock(4_200)
    await untilLive()
    expect(await ask()).toBe(false)
  })

  test('close ends the stream', async () => {
    const { close: end, untilLive } = build()
    await untilLive()
    await end()
    await until(() => world.server.streams() === 0)
    expect(world.server.seen.subscriptions).toBe(1)
  })
})
