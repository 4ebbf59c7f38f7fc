import { jest } from '@jest/globals'
import { buildIntrospector, type CacheSettings } from '../src/index.js'
import type { FakeAuthorizationServer } from './fake-authorization-server.js'
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

/** Builds introspectors for whichever server there is at that moment; what ends them is left in `close`. */
export const builderFor =
  (current: () => FakeAuthorizationServer, close: (() => Promise<void>)[]) =>
  (cache: Partial<CacheSettings> = {}, { withFeed = true } = {}) => {
    const server = current()
    const introspector = buildIntrospector({
      url: server.introspectionUrl,
      clientId: 'rs',
      clientSecret: 'secret',
      timeoutMs: 2_000,
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
export function advanceClock(milliseconds: number): void {
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + milliseconds)
}

/** The server decides its answers to this token, and sends them when the gate is opened. */
export function holdAnswers(server: FakeAuthorizationServer, held: string) {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  server.beforeAnswer((token) => (token === held ? gate : Promise.resolve()))
  return { open }
}
