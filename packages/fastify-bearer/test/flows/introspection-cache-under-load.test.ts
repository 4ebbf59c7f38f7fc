import { describe, expect, test } from '@jest/globals'
import { advanceClock, cachedIntrospectors, holdAnswers, live } from '../cached-introspector.js'
import { startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

const world = cachedIntrospectors()
const { build } = world

describe('calls are shared', () => {
  test('10,000 parallel requests with one new token are one call', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const answers = await Promise.all(Array.from({ length: 10_000 }, () => ask()))
    expect(answers.every(Boolean)).toBe(true)
    expect(world.server.seen.introspections).toBe(1)
  })

  test('while the feed is not proved, or without a cache, whoever comes during a call takes the next one', async () => {
    const { ask } = build({ seconds: 0 })
    const gate = holdAnswers(world.server, 'good')
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

describe('floods', () => {
  test('unknown tokens neither push out the good ones nor pile up', async () => {
    const { ask } = build({}, { withFeed: false })
    await ask()
    for (let round = 0; round < 50; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => ask(`unknown-${round}-${index}`)))
    }
    const before = world.server.seen.introspections
    expect(await ask()).toBe(true)
    expect(world.server.seen.introspections).toBe(before)
  })

  test('the same unknown token again costs no call, for a moment', async () => {
    const { ask } = build({}, { withFeed: false })
    expect([await ask('unknown'), await ask('unknown')]).toEqual([false, false])
    expect(world.server.seen.introspections).toBe(1)
    advanceClock(2_001)
    await ask('unknown')
    expect(world.server.seen.introspections).toBe(2)
  })

  test('more good tokens than it may keep: the ones used last stay', async () => {
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

describe('the authorization server is away', () => {
  test('kept answers go on while the lease runs and no longer, all else fails at once', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await world.server.close()
    await expect(ask('new')).rejects.toMatchObject({ reason: 'unreachable' })
    expect(await ask()).toBe(true)
    advanceClock(2_001)
    await expect(ask()).rejects.toMatchObject({ reason: 'unreachable' })
  })

  test('after a few failures it is left alone, and it is back soon after its return', async () => {
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

  test('a connection that was closed just as it was used again costs nobody an answer', async () => {
    const { ask } = build({ seconds: 0 })
    await ask()
    const { port } = world.server
    await world.server.close()
    world.server = await startFakeAuthorizationServer(port)
    world.server.answers.set('good', live)
    expect(await ask()).toBe(true)
  })
})
