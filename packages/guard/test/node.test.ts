import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createGuard, type Guard } from '../src/index.js'
import { accessTokenOf, requireAccessToken, serveMetadata } from '../src/node.js'
import { json, startFakeEndpoint } from './fake-introspection-endpoint.js'
import { bearer, ISSUER, live, RESOURCE } from './guarded-api.js'
import { until } from './until.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let guard: Guard
let server: Server | undefined
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })
})
afterEach(async () => {
  server?.closeAllConnections()
  await new Promise((resolve) => server?.close(resolve))
})
afterAll(async () => {
  await guard.close()
  await endpoint.close()
})

async function get(listener: RequestListener, path = '/files') {
  endpoint.answers(json(live))
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: bearer } })
}

test('a response that another middleware sent meanwhile stays the only one', async () => {
  let isNext = false
  const refuse = requireAccessToken(guard, 'files.write')
  const response = await get((request, response) => {
    refuse(request, response, () => {
      isNext = true
    })
    response.end('timed out')
  })
  expect([response.status, await response.text(), isNext]).toEqual([200, 'timed out', false])
  // The guard has its result now.
  await until(() => guard.statistics()?.calls.ended === 1)
})

test.each([
  { name: 'text, as pino-http sets it', id: 'request-77', sent: 'request-77' },
  { name: 'a number', id: 77, sent: undefined },
  { name: 'no header value', id: 'a\nb', sent: undefined },
  { name: 'missing', id: undefined, sent: undefined }
])('the id of a request is $name: the authorization server gets $sent', async ({ id, sent }) => {
  const guardRequest = requireAccessToken(guard)
  const response = await get((request, response) => {
    Object.assign(request, { id })
    guardRequest(request, response, () => response.end())
  })
  expect([response.status, endpoint.calls.map(({ headers }) => headers['x-request-id'])]).toEqual([200, [sent]])
})

test('two guards on one path: the handler gets the token once both accepted it', async () => {
  const [first, second] = [requireAccessToken(guard, 'files.read'), requireAccessToken(guard, 'files.write')]
  let isNext = false
  const response = await get((request, response) => {
    first(request, response, () =>
      second(request, response, () => {
        isNext = true
      })
    )
  })
  expect([response.status, isNext]).toEqual([403, false])
})

test('accessTokenOf a request that no guard accepted throws', () => {
  expect(() => accessTokenOf({} as IncomingMessage)).toThrow('requireAccessToken')
})

test('serveMetadata calls next for another path', async () => {
  const metadata = serveMetadata(guard)
  const response = await get((request, response) => metadata(request, response, () => response.end('next')), '/other')
  expect(await response.text()).toBe('next')
})
