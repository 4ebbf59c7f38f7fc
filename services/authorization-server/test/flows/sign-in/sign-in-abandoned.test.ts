import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import { ISSUER, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { firstForm } from '../../support/browser.js'
import { PASSWORD } from '../../support/flow.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.publicServer.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => server.close())

/** Sends the form of the sign-in page over a connection of its own. */
async function sendForm() {
  const browser = server.newBrowser()
  const { fields } = firstForm((await browser.open(`${ISSUER}/login`)).body)
  const body = new URLSearchParams({ ...fields, username: 'alice', password: PASSWORD }).toString()
  const { port } = server.publicServer.server.address() as AddressInfo
  const sent = request({
    port,
    host: '127.0.0.1',
    path: '/login',
    method: 'POST',
    agent: false,
    headers: {
      origin: ISSUER,
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(body)
    }
  })
  sent.on('error', () => {})
  sent.end(body)
  return sent
}

test('a password that waits is not hashed after its client has gone; other clients are not affected', async () => {
  const { login } = server.deps
  const spacious = login.passwordQueue
  const queue = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 10, milliseconds: 10_000 })
  const hashed: string[] = []
  login.passwordQueue = {
    deadline: queue.deadline,
    run: ({ cost, work }, turn) => {
      const recorded = () => {
        hashed.push(turn?.account ?? '')
        return work()
      }
      return queue.run({ cost, work: recorded }, turn)
    }
  }
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const running = queue.run({ cost: { milliseconds: 1, bytes: 0 }, work: () => held })
  const leaving = await sendForm()
  await until(async () => queue.state().waiting === 1)
  leaving.destroy()
  await until(async () => queue.state().waiting === 0)
  const staying = await sendForm()
  await until(async () => queue.state().waiting === 1)
  const response = once(staying, 'response')
  release()
  await running
  const [{ statusCode }] = await response
  expect([statusCode, hashed]).toEqual([303, ['alice']])
  login.passwordQueue = spacious
})
