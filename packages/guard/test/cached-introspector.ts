import { afterEach, beforeEach, jest } from '@jest/globals'
import { buildIntrospector, type CacheOptions } from '../src/index.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from './fake-authorization-server.js'
import { until } from './until.js'

const inOneHour = Math.floor(Date.now() / 1000) + 3600
export const live = {
  active: true,
  scope: 'a',
  client_id: 'printer',
  sub: 'alice',
  jti: 'j',
  grant_id: 'g',
  exp: inOneHour
}

/** A server for each test, with the active token `good`, and introspectors that use it. All are closed after the test. */
export function cachedIntrospectors() {
  const close: (() => Promise<void>)[] = []
  const world = {
    server: undefined as unknown as FakeAuthorizationServer,

    /** Uses the current `server`. */
    build(cache: Partial<CacheOptions> = {}, { withFeed = true } = {}) {
      const { introspectionUrl: url, revocationsUrl } = world.server
      const introspector = buildIntrospector({
        url,
        clientId: 'rs',
        clientSecret: 'secret',
        timeoutMs: 60_000,
        cache: { seconds: 60, ...(withFeed && { revocationsUrl }), ...cache }
      })
      close.push(() => introspector.close())
      return {
        ...introspector,
        ask: async (token = 'good') => (await introspector.introspect(token, 'request')).active,
        untilLive: () => until(() => introspector.cacheState() === 'live')
      }
    }
  }

  beforeEach(async () => {
    world.server = await startFakeAuthorizationServer()
    world.server.answers.set('good', live)
  })
  afterEach(async () => {
    jest.restoreAllMocks()
    for (const end of close.splice(0)) await end()
    await world.server.close()
  })
  return world
}

const monotonicNow = performance.now.bind(performance)

/** Moves the monotonic clock of this process ahead; timers and the network are not affected. */
export function advanceClock(milliseconds: number): void {
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + milliseconds)
}

/** Stops the monotonic clock of this process, so that no lease ends while a slow machine works. */
export function stopClock(): void {
  const now = monotonicNow()
  jest.spyOn(performance, 'now').mockImplementation(() => now)
}

/** The server decides its responses about this token, but sends them only after `open`. */
export function delayAnswers(server: FakeAuthorizationServer, delayed: string) {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  server.beforeAnswer((token) => (token === delayed ? gate : Promise.resolve()))
  return { open }
}
