import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { advanceClock, builderFor, holdAnswers, live } from './cached-introspector.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from './fake-authorization-server.js'
import { until } from './until.js'

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

const build = builderFor(() => server, close)

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
    const gate = holdAnswers(server, 'good')
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
