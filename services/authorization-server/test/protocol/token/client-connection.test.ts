import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { whenUnread } from '../../../src/protocol/token/client-connection.js'

let server: Server
let unread: string[]
let closed: Promise<unknown>
beforeEach(async () => {
  unread = []
  server = createServer((request, response) => {
    response.end('tokens')
    whenUnread(response, () => unread.push(request.url ?? ''))
  })
  // Fastify does the same: the connection of a client that resets it is destroyed.
  server.on('clientError', (_error, socket) => socket.destroy())
  closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.close()
})

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function receive(socket: Socket, path: string): Promise<void> {
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`)
  await once(socket, 'data')
}

test('a connection that is reset right after a response: only the last response counts as unread', async () => {
  const socket = await open()
  await receive(socket, '/first')
  await receive(socket, '/second')
  socket.resetAndDestroy()
  await closed
  expect(unread).toEqual(['/second'])
})

test('a connection that the client closes after the response: read', async () => {
  const socket = await open()
  await receive(socket, '/first')
  socket.end()
  await closed
  expect(unread).toEqual([])
})
