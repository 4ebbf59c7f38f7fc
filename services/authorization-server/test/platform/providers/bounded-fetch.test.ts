import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { boundedFetch, ResponseTooLarge } from '../../../src/platform/providers/bounded-fetch.js'

const MEBIBYTE = 1024 * 1024

async function withServer(respond: RequestListener, run: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(respond)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a response of 1 MiB is returned with its status and headers', async () => {
  const respond: RequestListener = (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(Buffer.alloc(MEBIBYTE, 'a'))
  await withServer(respond, async (url) => {
    const response = await boundedFetch(url, {})
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json'])
    expect(await response.text()).toHaveLength(MEBIBYTE)
  })
})

test('a response without end is given up after 1 MiB, and its connection is closed', async () => {
  let closed: Promise<unknown> = Promise.reject(new Error('no request'))
  closed.catch(() => {})
  const send = (response: ServerResponse): void => {
    while (response.writable && response.write(Buffer.alloc(65_536, 'a')));
    response.once('drain', () => send(response))
  }
  const respond: RequestListener = (_request, response) => {
    closed = once(response, 'close')
    send(response)
  }
  await withServer(respond, async (url) => {
    await expect(boundedFetch(url, {})).rejects.toThrow(ResponseTooLarge)
    await closed
  })
})
