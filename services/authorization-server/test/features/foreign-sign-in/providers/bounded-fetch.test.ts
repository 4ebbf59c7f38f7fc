import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { boundedFetch, ResponseTooLarge } from '../../../../src/features/foreign-sign-in/providers/bounded-fetch.js'
import { createFetch } from '../../../../src/features/foreign-sign-in/providers/proxied-fetch.js'

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

describe('HTTPS_PROXY', () => {
  const asked: string[] = []
  const proxy = createServer((_request, response) => response.end('not through the proxy'))
  let address: string

  beforeAll(async () => {
    proxy.on('connect', ({ url, headers }, socket) => {
      asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`.trim())
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  })

  afterEach(() => {
    asked.length = 0
  })

  afterAll(() => {
    proxy.closeAllConnections()
    proxy.close()
  })

  test('is asked for an https address, with its credentials', async () => {
    const fetchByProxy = createFetch({ url: `http://user:word@${address}`, exceptions: '' })
    await expect(fetchByProxy('https://id.example/token', {})).rejects.toThrow('fetch failed')
    expect(asked).toEqual([`id.example:443 Basic ${Buffer.from('user:word').toString('base64')}`])
  })

  test.each(['id.example', '.example', '*'])('is not asked for an address of NO_PROXY=%s', async (noProxy) => {
    const fetchByProxy = createFetch({ url: `http://${address}`, exceptions: noProxy })
    // The reserved name does not exist.
    await expect(fetchByProxy('https://id.example/token', {})).rejects.toThrow('fetch failed')
    expect(asked).toEqual([])
  })

  test('is not asked for an http address, which is on this machine', async () => {
    const fetchByProxy = createFetch({ url: 'http://127.0.0.1:1', exceptions: '' })
    expect(await (await fetchByProxy(`http://${address}`, {})).text()).toBe('not through the proxy')
  })
})
