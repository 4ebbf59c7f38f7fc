import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { buildLogger } from '../../src/process/logger.js'
import { buildServer } from '../../src/server/build-server.js'

/** Sends each request on a connection of its own and resets it; in a thread, so that it works while the event loop of the server waits. */
const CALLER = `
  const { connect } = require('node:net')
  const { workerData, parentPort } = require('node:worker_threads')
  const flag = new Int32Array(workerData.flag)
  const open = () => new Promise((resolve) => {
    const socket = connect(workerData.port, '127.0.0.1', () => resolve(socket))
    socket.on('error', () => {})
  })
  const answer = (socket) => new Promise((resolve) => socket.once('data', resolve))
  const head = (path, tail) => path + ' HTTP/1.1\\r\\nHost: x\\r\\n' + tail
  const send = (socket) => new Promise((resolve) =>
    socket.write(head('POST /', 'Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}'), resolve))
  const reset = (socket) => new Promise((resolve) => {
    socket.once('close', resolve)
    socket.resetAndDestroy()
  })
  async function run() {
    const sockets = []
    if (workerData.isAccepted) {
      for (let count = 0; count < workerData.count; count++) {
        const socket = await open()
        socket.write(head('GET /ready', '\\r\\n'))
        await answer(socket)
        sockets.push(socket)
      }
    }
    parentPort.postMessage('block')
    Atomics.wait(flag, 0, 0)
    for (let count = 0; count < workerData.count; count++) {
      const socket = sockets[count] ?? await open()
      await send(socket)
      await reset(socket)
    }
    Atomics.store(flag, 0, 2)
    Atomics.notify(flag, 0)
  }
  run()
`
const COUNT = 60

let server: ReturnType<typeof buildServer>
let addresses: string[]

beforeAll(async () => {
  server = buildServer({ logger: buildLogger('test', 'silent') })
  server.get('/ready', async () => ({}))
  server.post('/', async (request) => {
    addresses.push(request.ip)
    return {}
  })
  await server.listen({ host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  addresses = []
})
afterAll(() => server.close())

function portOf(): number {
  const address = server.server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** Holds the event loop while the caller sends and resets. */
async function callWhileBlocked(isAccepted: boolean): Promise<void> {
  const flag = new SharedArrayBuffer(4)
  const view = new Int32Array(flag)
  const worker = new Worker(CALLER, { eval: true, workerData: { flag, port: portOf(), count: COUNT, isAccepted } })
  await new Promise<void>((resolve) => worker.once('message', () => resolve()))
  Atomics.store(view, 0, 1)
  Atomics.notify(view, 0)
  Atomics.wait(view, 0, 1)
  // A later request is answered after all connections that came before it.
  await fetch(`http://127.0.0.1:${portOf()}/ready`)
  await worker.terminate()
}

test('a request is not run whose connection was reset before it was accepted', async () => {
  await callWhileBlocked(false)
  expect(addresses).toEqual([])
})

test('a request is not run whose connection was reset after it was accepted', async () => {
  await callWhileBlocked(true)
  expect(addresses).toEqual([])
})
