import { describe, expect, test } from '@jest/globals'
import { advanceClock, cachedIntrospectors, delayAnswers, live, stopClock } from '../cached-introspector.js'
import { startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

const world = cachedIntrospectors()
const { build } = world

describe('shared calls', () => {
  test('10,000 concurrent requests for one token share one call', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    stopClock()
    const answers = await Promise.all(Array.from({ length: 10_000 }, () => ask()))
    expect(answers.every(Boolean)).toBe(true)
    expect(world.server.seen.introspections).toBe(1)
  })

  test('without a cache, requests during a call share the next call', async () => {
    const { ask } = build({ seconds: 0 })
    const gate = delayAnswers(world.server, 'good')
    const first = ask()
    await until(() => world.server.seen.introspections === 1)
    world.server.answers.delete('good')
    const late = Array.from({ length: 1_000 }, () => ask())
    gate.open()
    expect(await first).toBe(true)
    expect(new Set(await Promise.all(late))).toEqual(new Set([false]))
    expect(world.server.seen.introspections).toBe(2)
  })
})

describe('many tokens', () => {
  test('unknown tokens do not displace active ones', async () => {
    const { ask } = build({}, { withFeed: false })
    await ask()
    for (let round = 0; round < 50; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => ask(`unknown-${round}-${index}`)))
    }
    const before = world.server.seen.introspections
    expect(await ask()).toBe(true)
    expect(world.server.seen.introspections).toBe(before)
  })

  test('an unknown token causes one call within two seconds', async () => {
    const { ask } = build({}, { withFeed: false })
    expect([await ask('unknown'), await ask('unknown')]).toEqual([false, false])
    expect(world.server.seen.introspections).toBe(1)
    advanceClock(2_001)
    await ask('unknown')
    expect(world.server.seen.introspections).toBe(2)
  })

  test('with more active tokens than maxEntries, the most recently used stay cached', async () => {
    const { ask } = build({ maxEntries: 10 }, { withFeed: false })
    for (let index = 0; index < 20; index++) {
      world.server.answers.set(`t${index}`, { ...live, jti: `j${index}` })
      await ask(`t${index}`)
    }
    await ask('t19')
    expect(world.server.seen.introspections).toBe(20)
    await ask('t0')
    expect(world.server.seen.introspections).toBe(21)
  })
})

describe('the authorization server is unavailable', () => {
  test('cached results are used until the lease ends; other requests fail immediately', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await world.server.close()
    await expect(ask('new')).rejects.toMatchObject({ reason: 'unreachable' })
    expect(await ask()).toBe(true)
    advanceClock(2_001)
    await expect(ask()).rejects.toMatchObject({ reason: 'unreachable' })
  })

  test('after five failures calls pause, and they succeed soon after the server recovers', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const { port } = world.server
    await world.server.close()
    for (let count = 0; count < 5; count++) await expect(ask('new')).rejects.toMatchObject({ reason: 'unreachable' })
    await expect(ask('new')).rejects.toMatchObject({ reason: 'resting' })
    world.server = await startFakeAuthorizationServer(port)
    world.server.answers.set('new', live)
    await until(() => ask('new').catch(() => false))
    await untilLive()
  })

  test('a call on a connection that the server has closed is repeated', async () => {
    const { ask } = build({ seconds: 0 })
    await ask()
    const { port } = world.server
    await world.server.close()
    world.server = await startFakeAuthorizationServer(port)
    world.server.answers.set('good', live)
    expect(await ask()).toBe(true)
  })
})
