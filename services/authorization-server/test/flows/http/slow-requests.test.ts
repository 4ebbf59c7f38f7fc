import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { listenOnFreePort } from '../../support/raw-connection.js'

// Node looks for slow senders every five seconds, so this takes that long however short the limits are.
const LIMITS = { headersTimeout: 300, requestTimeout: 600 }

let server: TestServer
let port: number

beforeAll(async () => {
  server = await startTestServer()
  port = await listenOnFreePort(server.publicServer)
})
afterAll(() => server.close())

test.each([
  { name: 'public', listener: () => server.publicServer },
  { name: 'internal', listener: () => server.internalServer },
  { name: 'operator', listener: () => server.operatorServer }
])('the $name listener disconnects a slow sender within 75 seconds', ({ listener }) => {
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = listener().server
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
    headersTimeout: 20_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    timeout: 60_000
  })
})

test('a request that is never completed gets 408, and its connection ends', async () => {
  Object.assign(server.publicServer.server, LIMITS)
  const answers = await Promise.all([
    dribble('GET /login HTTP/1.1\r\nHost: x\r\nX-A: ', 'a'),
    dribble(
      'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n',
      'a'
    ),
    dribble(
      'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\na\r\n'
    ),
    dribble('', '')
  ])
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
  }
})

/** Sends the start of a request and then single bytes until the connection ends; returns the response. */
async function dribble(start: string, more: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(start)
  const timer = setInterval(() => socket.writable && socket.write(more), 100)
  socket.once('end', () => clearInterval(timer))
  const answer = await text(socket)
  clearInterval(timer)
  return answer
}
