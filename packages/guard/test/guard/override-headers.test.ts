import { createServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { overrideHeaders } from '../../src/guard/override-headers.js'

const HEADERS = { 'dpop-nonce': 'n', 'cache-control': 'no-store' }

type Respond = (response: ServerResponse) => unknown

test.each<{ name: string; status?: number; other?: string; respond: Respond }>([
  { name: 'end', respond: (response) => response.end('text') },
  { name: 'write', respond: (response) => response.write('text') && response.end() },
  {
    name: 'setHeader',
    respond: (response) => response.setHeader('Cache-Control', 'public').setHeader('x-other', 'a').end(),
    other: 'a'
  },
  {
    name: 'removeHeader',
    respond: (response) => {
      response.removeHeader('dpop-nonce')
      response.end()
    }
  },
  {
    name: 'an object of writeHead',
    status: 201,
    other: 'a',
    respond: (response) => response.writeHead(201, { 'Cache-Control': 'public', 'X-Other': 'a' }).end()
  },
  {
    name: 'an object of writeHead after a message',
    status: 202,
    other: 'a',
    respond: (response) => response.writeHead(202, 'Fine', { 'cache-control': 'public', 'x-other': 'a' }).end()
  },
  {
    name: 'a list of writeHead',
    status: 203,
    other: 'a',
    respond: (response) => response.writeHead(203, ['Cache-Control', 'public', 'x-other', 'a']).end()
  },
  {
    name: 'a list of pairs of writeHead',
    other: 'a',
    respond: (response) =>
      response
        .writeHead(200, [
          ['Cache-Control', 'public'],
          ['x-other', 'a']
        ] as unknown as OutgoingHttpHeaders)
        .end()
  },
  { name: 'a status alone', status: 304, respond: (response) => response.writeHead(304).end() },
  {
    name: 'flushHeaders',
    respond: (response) => {
      response.flushHeaders()
      response.end()
    }
  }
])('a response that a handler sends by $name has the headers, once', async ({ status = 200, other, respond }) => {
  const server = createServer((_request, response) => {
    overrideHeaders(response, HEADERS)
    try {
      respond(response)
    } catch (error) {
      // The test would wait for a response.
      response.destroy(error as Error)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const { headers } = answer
  expect([answer.status, headers.get('cache-control'), headers.get('dpop-nonce')]).toEqual([status, 'no-store', 'n'])
  expect(headers.get('x-other') ?? undefined).toBe(other)
  await answer.arrayBuffer()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
