import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { buildIntrospector } from '../../src/index.js'
import { live } from '../cached-introspector.js'
import { type FakeAuthorizationServer, startFakeAuthorizationServer } from '../fake-authorization-server.js'
import { until } from '../until.js'

const TIMEOUT_MS = 300

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

/** Nothing else happens in this process meanwhile: no timer, no socket. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

describe('a process that stood still for longer than an answer may take', () => {
  test('takes the answer that came meanwhile', async () => {
    // The connection is there, so that the question is on its way before all stands still.
    await ask()
    const answer = ask()
    standStill(2 * TIMEOUT_MS)
    expect(await answer).toMatchObject({ active: true })
  })

  test('gives up when none came', async () => {
    server.beforeAnswer(() => new Promise(() => {}))
    const answer = ask()
    const failed = expect(answer).rejects.toMatchObject({ reason: 'timeout' })
    await until(() => server.seen.introspections === 1)
    standStill(2 * TIMEOUT_MS)
    await failed
  })
})
