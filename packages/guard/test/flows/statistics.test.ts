import { expect, test } from '@jest/globals'
import { advanceClock, cachedIntrospectors } from '../cached-introspector.js'
import { until } from '../until.js'

const world = cachedIntrospectors()
const { build } = world

test('a request is a bypass until the feed is verified, then a miss, then a hit', async () => {
  world.server.sendsProofs(false)
  const { ask, statistics, untilLive } = build()
  await ask()
  expect(statistics().cache).toMatchObject({ hits: 0, misses: 0, bypasses: 1, entries: 0 })
  world.server.sendsProofs(true)
  await untilLive()
  await ask()
  await ask()
  await ask()
  expect(statistics().cache).toMatchObject({ hits: 2, misses: 1, bypasses: 1, entries: 1 })
  expect(statistics().cache.bytes).toBeGreaterThan(0)
})

test('feed: whether it is verified, the age of the lease, and the round trip', async () => {
  const startedAt = performance.now()
  const { statistics, untilLive } = build()
  expect(statistics().feed).toEqual({ isVerified: false, leaseAgeMs: undefined, roundTripMs: undefined, losses: 0 })
  await untilLive()
  const { feed } = statistics()
  expect(feed?.isVerified).toBe(true)
  const passed = performance.now() - startedAt
  expect(feed?.leaseAgeMs).toBeLessThanOrEqual(passed)
  expect(feed?.roundTripMs).toBeLessThanOrEqual(feed?.leaseAgeMs ?? 0)
  world.server.sendsProofs(false)
  advanceClock(5_000)
  expect(statistics().feed).toMatchObject({ isVerified: false, losses: 0 })
  expect(statistics().feed?.leaseAgeMs).toBeGreaterThan(5_000)
})

test('the end of a verified feed counts as a loss', async () => {
  const { statistics, untilLive } = build()
  await untilLive()
  world.server.endStreams()
  await until(() => statistics().feed?.losses === 1)
})

test('without a cache every request is a bypass, and feed is undefined', async () => {
  const { ask, statistics } = build({ seconds: 0 })
  await ask()
  await ask()
  expect(statistics()).toMatchObject({ cache: { hits: 0, misses: 0, bypasses: 2, entries: 0, bytes: 0 } })
  expect(statistics().feed).toBeUndefined()
})

test('introspection calls count ended calls, tokens and milliseconds', async () => {
  const { ask, statistics } = build({ seconds: 0 })
  await ask()
  await ask('other')
  const { ended, tokens, milliseconds } = statistics().calls
  expect([ended, tokens]).toEqual([2, 2])
  expect(milliseconds).toBeGreaterThan(0)
})

test('failures by reason; after five failures no call is made', async () => {
  const introspector = build({}, { withFeed: false })
  await world.server.close()
  for (let attempt = 0; attempt < 7; attempt++) {
    await expect(introspector.introspect(`token-${attempt}`, 'request')).rejects.toThrow()
  }
  const { calls } = introspector.statistics()
  expect(calls.failures).toEqual({ unreachable: 5, timeout: 0, bad_status: 0, unreadable_response: 0, resting: 2 })
  expect(calls.ended).toBe(5)
})
