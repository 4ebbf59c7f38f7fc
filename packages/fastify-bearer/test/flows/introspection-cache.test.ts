import { describe, expect, jest, test } from '@jest/globals'
import { advanceClock, cachedIntrospectors, holdAnswers, live } from '../cached-introspector.js'
import { until } from '../until.js'

const world = cachedIntrospectors()
const { build } = world

describe('without a feed an answer is kept for the time that the operator set', () => {
  test('asked for again within it: no call; after it: a call', async () => {
    const { ask, cacheState } = build({ seconds: 60 }, { withFeed: false })
    expect(cacheState()).toBe('live')
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(1)
    advanceClock(60_001)
    expect(await ask()).toBe(true)
    expect(world.server.seen.introspections).toBe(2)
  })

  test('never past the end of the token (RFC 7662 §4)', async () => {
    world.server.answers.set('good', { ...live, exp: Math.floor(Date.now() / 1000) + 20 })
    const { ask } = build({ seconds: 60 }, { withFeed: false })
    await ask()
    advanceClock(21_000)
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test.each([
    { name: 'the server’s clock is an hour ahead', server: 3_600_000, api: 0, asked: 2 },
    { name: 'this API’s clock is an hour ahead', server: 0, api: 3_600_000, asked: 2 },
    { name: 'this API’s clock is an hour behind', server: 0, api: -3_600_000, asked: 1 },
    { name: 'both are right', server: 0, api: 0, asked: 1 }
  ])('for what is left by the clock that is ahead: $name', async ({ server, api, asked }) => {
    const now = Date.now()
    world.server.answers.set('good', { ...live, exp: Math.floor(now / 1000) + 20 })
    world.server.clockAhead(server - api)
    jest.spyOn(Date, 'now').mockReturnValue(now + api)
    const { ask } = build({ seconds: 60 }, { withFeed: false })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(asked)
    advanceClock(21_000)
    await ask()
    expect(world.server.seen.introspections).toBe(asked + 1)
  })

  test('an answer that names neither token nor grant is kept as well', async () => {
    world.server.answers.set('good', { active: true, scope: 'a' })
    const { ask } = build({}, { withFeed: false })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(1)
  })

  test('0 seconds keep nothing', async () => {
    const { ask, cacheState } = build({ seconds: 0 })
    await ask()
    await ask()
    expect(world.server.seen).toMatchObject({ introspections: 2, subscriptions: 0 })
    expect(cacheState()).toBe('off')
  })
})

describe('with a feed', () => {
  test('answers are kept once it is proved, and only those asked for since', async () => {
    world.server.confirmsLife(false)
    const { ask, cacheState, untilLive } = build()
    await until(() => world.server.seen.nonces > 0)
    expect(cacheState()).toBe('waiting')
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
    world.server.confirmsLife(true)
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
  ])('the end of its $name ends a kept answer', async ({ members }) => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    world.server.answers.delete('good')
    expect(await ask()).toBe(true)
    world.server.revoke(members)
    await until(async () => !(await ask()))
    expect(world.server.seen.introspections).toBe(2)
  })

  test('the end of another token leaves it', async () => {
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

  test('an answer that was on its way when its grant ended is not kept', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    world.server.answers.set('other', { ...live, jti: 'other', grant_id: 'other' })
    await ask('other')
    const gate = holdAnswers(world.server, 'good')
    const asked = ask()
    await until(() => world.server.seen.introspections === 2)
    world.server.answers.delete('good')
    world.server.revoke({ grant_id: 'g' })
    // Events come in order: once this later one is seen, the guard has had the one before it.
    world.server.answers.delete('other')
    world.server.revoke({ jti: 'other' })
    await until(async () => !(await ask('other')))
    const later = ask()
    gate.open()
    // The first one came before the end and may be told so; whoever came after it must not be.
    expect([await asked, await later]).toEqual([true, false])
    expect(await ask()).toBe(false)
  })

  test('the lease ends by the clock, whatever the stream does, and what was kept is good again with the next proof', async () => {
    const { ask, cacheState, untilLive } = build()
    await untilLive()
    await ask()
    world.server.confirmsLife(false)
    advanceClock(2_001)
    expect(cacheState()).toBe('waiting')
    await ask()
    expect(world.server.seen.introspections).toBe(2)
    world.server.confirmsLife(true)
    await untilLive()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test.each([
    { name: 'an end of the stream', act: () => world.server.endStreams() },
    { name: 'a new connection after one that broke', act: () => world.server.breakConnections() },
    { name: 'a gap', act: () => world.server.revoke({ jti: 'other' }, { skip: 1 }) }
  ])('$name empties the cache, and it fills again', async ({ act }) => {
    const { ask, untilLive, statistics } = build()
    await untilLive()
    await ask()
    const since = performance.now()
    act()
    // What was proved before goes on for a moment when a connection breaks.
    await until(() => (statistics().feed?.leaseAgeMs ?? Number.POSITIVE_INFINITY) < performance.now() - since)
    expect(world.server.seen.subscriptions).toBe(2)
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test('whoever joined a call that outlived the lease asks anew', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const gate = holdAnswers(world.server, 'good')
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

  test('an answer that no event could end is not kept', async () => {
    world.server.answers.set('good', { active: true, scope: 'a', sub: 'alice' })
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await ask()
    expect(world.server.seen.introspections).toBe(2)
  })

  test('a feed that does not exist costs only the cache', async () => {
    const { ask, cacheState } = build({ revocationsUrl: 'http://127.0.0.1:1/revocations' })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(world.server.seen.introspections).toBe(2)
    expect(cacheState()).toBe('waiting')
  })

  test('a refusal that has no end does not hold it up', async () => {
    world.server.refuseStreams(1)
    const { untilLive } = build()
    await untilLive()
    expect(world.server.seen.subscriptions).toBe(2)
  })

  test('a token that was found inactive is not let pass from what was kept before', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    world.server.confirmsLife(false)
    advanceClock(2_001)
    world.server.answers.delete('good')
    expect(await ask()).toBe(false)
    world.server.confirmsLife(true)
    // Past the memory of the refusal, and not so long that the stream is given up.
    advanceClock(4_200)
    await untilLive()
    expect(await ask()).toBe(false)
  })

  test('closing ends the subscription', async () => {
    const { close: end, untilLive } = build()
    await untilLive()
    await end()
    await until(() => world.server.streams() === 0)
    expect(world.server.seen.subscriptions).toBe(1)
  })
})
