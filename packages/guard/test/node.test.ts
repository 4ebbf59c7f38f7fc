import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import { createGuard, type Guard } from '../src/index.js'
import { accessTokenOf, requireAccessToken, requireAccessTokenToUpgrade, serveMetadata } from '../src/node.js'
import { json, raw, startFakeEndpoint } from './fake-introspection-endpoint.js'
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

describe('a request for a WebSocket', () => {
  let opened: IncomingMessage[]

  /** A server whose handler a request for another protocol never reaches. */
  async function listen(...scopes: string[]): Promise<number> {
    opened = []
    const sockets = new WebSocketServer({ noServer: true })
    sockets.on('connection', (webSocket, request: IncomingMessage) =>
      webSocket.send(accessTokenOf(request).subject ?? '')
    )
    const mayUpgrade = requireAccessTokenToUpgrade(guard, ...scopes)
    server = createServer((_request, response) => void response.writeHead(204).end())
    server.on('upgrade', (request, socket, head) => {
      mayUpgrade(request, socket, () => {
        opened.push(request)
        sockets.handleUpgrade(request, socket, head, (webSocket) => sockets.emit('connection', webSocket, request))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  /** The first message, or the refusal, after the server has closed its connection. */
  async function open(port: number, headers: Record<string, string>, path = '/') {
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers })
    const accepted = once(client, 'message').then(([data]) => String(data))
    const refused = once(client, 'unexpected-response').then(async ([, response]) => {
      const { statusCode, headers } = response as IncomingMessage
      let body = ''
      for await (const chunk of response as IncomingMessage) body += chunk
      return { status: statusCode, challenge: headers['www-authenticate'], connection: headers.connection, body }
    })
    return Promise.race([accepted, refused]).finally(() => client.on('error', () => {}).terminate())
  }

  const UPGRADE = 'host: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n'

  test('is accepted with a token, which the handler gets', async () => {
    endpoint.answers(json(live))
    expect(await open(await listen('files.read'), { authorization: bearer })).toBe('alice-id')
  })

  test.each([
    { name: 'no token', authorization: '', status: 401, challenge: /^Bearer realm=/ },
    {
      name: 'a token in the URL',
      authorization: '',
      path: '/?access_token=a',
      status: 400,
      challenge: /invalid_request/
    },
    { name: 'an unknown token', answer: json({ active: false }), status: 401, challenge: /invalid_token/ },
    { name: 'another scope', scope: 'files.write', status: 403, challenge: /insufficient_scope/ },
    { name: 'an outage', answer: raw(500, ''), status: 503, challenge: /^$/ }
  ])('with $name is refused with $status, and the connection is closed', async (given) => {
    const { authorization = bearer, answer = json(live), scope = 'files.read', status, path, challenge } = given
    endpoint.answers(answer)
    const refusal = await open(await listen(scope), authorization === '' ? {} : { authorization }, path)
    expect(refusal).toMatchObject({ status, connection: 'close', body: expect.stringContaining('"status"') })
    expect(Object(refusal).challenge ?? '').toMatch(challenge)
    expect(opened).toEqual([])
  })

  test('whose client leaves during the check is not opened, and the process continues', async () => {
    let respond = () => {}
    const arrived = new Promise<void>((resolve) => {
      endpoint.answers((response) => {
        respond = () => void json(live)(response)
        resolve()
      })
    })
    const port = await listen('files.read')
    const closed = new Promise((resolve) =>
      server?.once('upgrade', (_request, socket) => socket.once('close', resolve))
    )
    const client = connect(port, '127.0.0.1')
    client.write(`GET / HTTP/1.1\r\n${UPGRADE}authorization: ${bearer}\r\n\r\n`)
    await arrived
    client.resetAndDestroy()
    await closed
    respond()
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(204)
    expect(opened).toEqual([])
  })

  test('that follows an unanswered request on its connection is not opened, and the process continues', async () => {
    const port = await listen()
    server?.removeAllListeners('request').on('request', () => {})
    const client = connect(port, '127.0.0.1')
    client.write(`GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\n${UPGRADE}\r\n`)
    await once(client, 'close')
    expect(opened).toEqual([])
  })
})
