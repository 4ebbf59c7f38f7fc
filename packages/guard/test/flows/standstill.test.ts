import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { buildIntrospector } from '../../src/index.js'
import { live } from '../cached-introspector.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

// A loaded machine needs hundreds of milliseconds for a call.
const TIMEOUT_MS = 1_500

let server: FakeAuthorizationServer
let introspector: ReturnType<typeof buildIntrospector>
beforeEach(async () => {
  server = await startFakeAuthorizationServer()
  server.answers.set('good', live)
  const { introspectionUrl: url } = server
  introspector = buildIntrospector({ url, clientId: 'rs', clientSecret: 'secret', timeoutMs: TIMEOUT_MS })
})
afterEach(async () => {
  await introspector.close()
  await server.close()
})

const ask = () => introspector.introspect('good', 'request')

/** Blocks the event loop, with all timers and sockets. */
function blockProcess(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

describe('a process that is blocked for longer than timeoutMs', () => {
  test('accepts the response that arrived meanwhile', async () => {
    // Opens the connection, so that the next call is sent before the process is blocked.
    await ask()
    const answer = ask()
    blockProcess(2 * TIMEOUT_MS)
    expect(await answer).toMatchObject({ active: true })
  })

  test('fails with timeout if no response arrived', async () => {
    server.beforeAnswer(() => new Promise(() => {}))
    const answer = ask()
    const failed = expect(answer).rejects.toMatchObject({ reason: 'timeout' })
    await until(() => server.seen.introspections === 1)
    blockProcess(2 * TIMEOUT_MS)
    await failed
  })
})
