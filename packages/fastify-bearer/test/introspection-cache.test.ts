import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { buildIntrospector, type CacheSettings } from '../src/index.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from './fake-authorization-server.js'
import { until } from './until.js'

const inOneHour = Math.floor(Date.now() / 1000) + 3600
const live = { active: true, scope: 'a', client_id: 'printer', sub: 'alice', jti: 'j', grant_id: 'g', exp: inOneHour }

let server: FakeAuthorizationServer
const close: (() => Promise<void>)[] = []
beforeEach(async () => {
  server = await startFakeAuthorizationServer()
  server.answers.set('good', live)
})
afterEach(async () => {
  jest.restoreAllMocks()
  for (const end of close.splice(0)) await end()
  await server.close()
})

function build(cache: Partial<CacheSettings> = {}, { withFeed = true, timeoutMs = 2_000 } = {}) {
  const introspector = buildIntrospector({
    url: server.introspectionUrl,
    clientId: 'rs',
    clientSecret: 'secret',
    timeoutMs,
    cache: { seconds: 60, ...(withFeed && { revocationsUrl: server.revocationsUrl }), ...cache }
  })
  close.push(() => introspector.close())
  return {
    ...introspector,
    ask: async (token = 'good') => (await introspector.introspect(token, 'request')).active,
    untilLive: () => until(() => introspector.cacheState() === 'live')
  }
}

const monotonicNow = performance.now.bind(performance)

/** The monotonic clock of this process is ahead by so much; timers and the network go on. */
function advanceClock(milliseconds: number): void {
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + milliseconds)
}

/** The server decides its answers to this token, and sends them when the gate is opened. */
function holdAnswers(held: string) {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  server.beforeAnswer((token) => (token === held ? gate : Promise.resolve()))
  return { open }
}

describe('without a feed an answer is kept for the time that the operator set', () => {
  test('asked for again within it: no call; after it: a call', async () => {
    const { ask, cacheState } = build({ seconds: 60 }, { withFeed: false })
    expect(cacheState()).toBe('live')
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(server.seen.introspections).toBe(1)
    advanceClock(60_001)
    expect(await ask()).toBe(true)
    expect(server.seen.introspections).toBe(2)
  })

  test('never past the end of the token (RFC 7662 §4)', async () => {
    server.answers.set('good', { ...live, exp: Math.floor(Date.now() / 1000) + 20 })
    const { ask } = build({ seconds: 60 }, { withFeed: false })
    await ask()
    advanceClock(21_000)
    await ask()
    expect(server.seen.introspections).toBe(2)
  })

  test('an answer that names neither token nor grant is kept as well', async () => {
    server.answers.set('good', { active: true, scope: 'a' })
    const { ask } = build({}, { withFeed: false })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(server.seen.introspections).toBe(1)
  })

  test('0 seconds keep nothing', async () => {
    const { ask, cacheState } = build({ seconds: 0 })
    await ask()
    await ask()
    expect(server.seen).toMatchObject({ introspections: 2, subscriptions: 0 })
    expect(cacheState()).toBe('off')
  })
})

describe('with a feed', () => {
  test('answers are kept once it is proved, and only those asked for since', async () => {
    server.provesLife(false)
    const { ask, cacheState, untilLive } = build()
    await until(() => server.seen.nonces > 0)
    expect(cacheState()).toBe('waiting')
    await ask()
    await ask()
    expect(server.seen.introspections).toBe(2)
    server.provesLife(true)
    await untilLive()
    await ask()
    await ask()
    expect(server.seen.introspections).toBe(3)
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
    server.answers.delete('good')
    expect(await ask()).toBe(true)
    server.revoke(members)
    await until(async () => !(await ask()))
    expect(server.seen.introspections).toBe(2)
  })

  test('the end of another token leaves it', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    server.answers.set('other', { ...live, jti: 'other', grant_id: 'other' })
    await ask()
    await ask('other')
    server.revoke({ jti: 'other' })
    await until(async () => {
      await ask('other')
      return server.seen.introspections === 3
    })
    await ask()
    expect(server.seen.introspections).toBe(3)
  })

  test('an answer that was on its way when its grant ended is not kept', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    server.answers.set('other', { ...live, jti: 'other', grant_id: 'other' })
    await ask('other')
    const gate = holdAnswers('good')
    const asked = ask()
    await until(() => server.seen.introspections === 2)
    server.answers.delete('good')
    server.revoke({ grant_id: 'g' })
    // Events come in order: once this later one is seen, the guard has had the one before it.
    server.answers.delete('other')
    server.revoke({ jti: 'other' })
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
    server.provesLife(false)
    advanceClock(2_001)
    expect(cacheState()).toBe('waiting')
    await ask()
    expect(server.seen.introspections).toBe(2)
    server.provesLife(true)
    await untilLive()
    await ask()
    expect(server.seen.introspections).toBe(2)
  })

  test.each([
    { name: 'an end of the stream', act: () => server.endStreams() },
    { name: 'a new connection after one that broke', act: () => server.breakConnections() },
    { name: 'a gap', act: () => server.revoke({ jti: 'other' }, { skip: 1 }) }
  ])('$name empties the cache, and it fills again', async ({ act }) => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    act()
    await until(() => server.seen.subscriptions === 2)
    await untilLive()
    await ask()
    await ask()
    expect(server.seen.introspections).toBe(2)
  })

  test('an answer that no event could end is not kept', async () => {
    server.answers.set('good', { active: true, scope: 'a', sub: 'alice' })
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await ask()
    expect(server.seen.introspections).toBe(2)
  })

  test('a feed that does not exist costs only the cache', async () => {
    const { ask, cacheState } = build({ revocationsUrl: 'http://127.0.0.1:1/revocations' })
    expect([await ask(), await ask()]).toEqual([true, true])
    expect(server.seen.introspections).toBe(2)
    expect(cacheState()).toBe('waiting')
  })

  test('a refusal that has no end does not hold it up', async () => {
    server.refuseStreams(1)
    const { untilLive } = build()
    await untilLive()
    expect(server.seen.subscriptions).toBe(2)
  })

  test('a token that was found inactive is not let pass from what was kept before', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    server.provesLife(false)
    advanceClock(2_001)
    server.answers.delete('good')
    expect(await ask()).toBe(false)
    server.provesLife(true)
    // Past the memory of the refusal, and not so long that the stream is given up.
    advanceClock(4_200)
    await untilLive()
    expect(await ask()).toBe(false)
  })

  test('closing ends the subscription', async () => {
    const { close: end, untilLive } = build()
    await untilLive()
    await end()
    await until(() => server.streams() === 0)
    expect(server.seen.subscriptions).toBe(1)
  })
})

describe('calls are shared', () => {
  test('10,000 parallel requests with one new token are one call', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const answers = await Promise.all(Array.from({ length: 10_000 }, () => ask()))
    expect(answers.every(Boolean)).toBe(true)
    expect(server.seen.introspections).toBe(1)
  })

  test('while the feed is not proved, or without a cache, whoever comes during a call takes the next one', async () => {
    const { ask } = build({ seconds: 0 })
    const gate = holdAnswers('good')
    const first = ask()
    await until(() => server.seen.introspections === 1)
    server.answers.delete('good')
    const late = Array.from({ length: 1_000 }, () => ask())
    gate.open()
    expect(await first).toBe(true)
    expect(new Set(await Promise.all(late))).toEqual(new Set([false]))
    expect(server.seen.introspections).toBe(2)
  })
})

describe('floods', () => {
  test('unknown tokens neither push out the good ones nor pile up', async () => {
    const { ask } = build({}, { withFeed: false })
    await ask()
    for (let round = 0; round < 50; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => ask(`unknown-${round}-${index}`)))
    }
    const before = server.seen.introspections
    expect(await ask()).toBe(true)
    expect(server.seen.introspections).toBe(before)
  })

  test('the same unknown token again costs no call, for a moment', async () => {
    const { ask } = build({}, { withFeed: false })
    expect([await ask('unknown'), await ask('unknown')]).toEqual([false, false])
    expect(server.seen.introspections).toBe(1)
    advanceClock(2_001)
    await ask('unknown')
    expect(server.seen.introspections).toBe(2)
  })

  test('more good tokens than it may keep: the ones used last stay', async () => {
    const { ask } = build({ maxEntries: 10 }, { withFeed: false })
    for (let index = 0; index < 20; index++) {
      server.answers.set(`t${index}`, { ...live, jti: `j${index}` })
      await ask(`t${index}`)
    }
    await ask('t19')
    expect(server.seen.introspections).toBe(20)
    await ask('t0')
    expect(server.seen.introspections).toBe(21)
  })
})

describe('the authorization server is away', () => {
  test('kept answers go on while the lease runs and no longer, all else fails at once', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    await ask()
    await server.close()
    await expect(ask('new')).rejects.toMatchObject({ reason: 'unreachable' })
    expect(await ask()).toBe(true)
    advanceClock(2_001)
    await expect(ask()).rejects.toMatchObject({ reason: 'unreachable' })
  })

  test('after a few failures it is left alone, and it is back soon after its return', async () => {
    const { ask, untilLive } = build()
    await untilLive()
    const { port } = server
    await server.close()
    for (let count = 0; count < 5; count++) await expect(ask('new')).rejects.toMatchObject({ reason: 'unreachable' })
    await expect(ask('new')).rejects.toMatchObject({ reason: 'resting' })
    server = await startFakeAuthorizationServer(port)
    server.answers.set('new', live)
    await until(() => ask('new').catch(() => false))
    await untilLive()
  })

  test('a connection that was closed just as it was used again costs nobody an answer', async () => {
    const { ask } = build({ seconds: 0 })
    await ask()
    const { port } = server
    await server.close()
    server = await startFakeAuthorizationServer(port)
    server.answers.set('good', live)
    expect(await ask()).toBe(true)
  })
})
