import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from '@jest/globals'
import { createHttpMetrics } from '../../src/metrics/http-metrics.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { metricsRoute } from '../../src/metrics/metrics-route.js'
import { groupRoutes, inGroup } from '../../src/metrics/route-groups.js'
import { buildLogger } from '../../src/process/logger.js'
import { buildServer } from '../../src/server/build-server.js'

let server: ReturnType<typeof buildServer>

afterEach(() => server.close())

function build(level = 'silent', lines: string[] = []) {
  const metrics = createMetrics()
  const meter = createHttpMetrics(metrics, ['public'])('public')
  server = buildServer({ logger: buildLogger('test', level, { write: (line) => lines.push(line) }), meter })
  groupRoutes(server, 'files')
  server.get('/files/:id', async (_request, reply) => reply.code(200).send('one'))
  server.post('/files/:id', async () => {
    throw new Error('broken')
  })
  server.get('/stream', { config: { isStream: true } }, async (request, reply) =>
    reply.code(request.headers['x-bad'] === undefined ? 200 : 401).send('')
  )
  server.register(inGroup('health', metricsRoute), { metrics })
  return server
}

/** The number of counted requests by labels. */
async function counts(): Promise<Record<string, string>> {
  const { body } = await server.inject('/metrics')
  const lines = body.matchAll(/^valetkey_http_request_duration_seconds_count\{(.+)\} (\d+)$/gm)
  return Object.fromEntries([...lines].map(([, labels = '', count = '']) => [labels.replaceAll('"', ''), count]))
}

test('requests are counted by route, method and class of the status', async () => {
  build()
  await server.inject('/files/1')
  await server.inject('/files/2?secret=hush')
  await server.inject({ method: 'POST', url: '/files/1' })
  await server.inject({ method: 'HEAD', url: '/files/1' })
  expect(await counts()).toEqual({
    'listener=public,route_group=files,route=/files/:id,method=GET,status=2xx': '2',
    'listener=public,route_group=files,route=/files/:id,method=POST,status=5xx': '1',
    'listener=public,route_group=files,route=/files/:id,method=HEAD,status=2xx': '1'
  })
})

test('groupRoutes sets the group of all routes in a scope, also HEAD and OPTIONS; a nested scope may set another', async () => {
  build()
  server.register(async (outer) => {
    groupRoutes(outer, 'sign_in')
    outer.get('/outer', async () => 'outer')
    outer.options('/outer', async () => 'options')
    outer.register(
      inGroup<{ word: string }>('static', async (inner, { word }) => {
        inner.get('/inner', async () => word)
      }),
      { word: 'inner' }
    )
  })
  expect((await server.inject('/inner')).body).toBe('inner')
  await server.inject('/outer')
  await server.inject({ method: 'HEAD', url: '/outer' })
  await server.inject({ method: 'OPTIONS', url: '/outer' })
  expect(Object.keys(await counts())).toEqual([
    'listener=public,route_group=static,route=/inner,method=GET,status=2xx',
    'listener=public,route_group=sign_in,route=/outer,method=GET,status=2xx',
    'listener=public,route_group=sign_in,route=/outer,method=HEAD,status=2xx',
    'listener=public,route_group=sign_in,route=/outer,method=OPTIONS,status=2xx'
  ])
})

test('a server with a route without a group does not start', async () => {
  const meter = createHttpMetrics(createMetrics(), ['public'])('public')
  server = buildServer({ logger: buildLogger('test', 'silent'), meter })
  server.register(inGroup('files', async (files) => void files.get('/known', async () => '')))
  server.get('/forgotten', async () => '')
  await expect(server.ready()).rejects.toThrow('these routes have no route group: /forgotten')
})

test('made-up paths, methods and headers create no time series', async () => {
  build()
  for (let number = 0; number < 100; number++) {
    await server.inject({ method: 'GET', url: `/made-up/${number}`, headers: { 'x-request-id': `made-up-${number}` } })
    await server.inject({ method: 'GET', url: `/files/${number}` })
  }
  for (const method of ['PROPFIND', 'MKCOL', 'LOCK'] as never[]) await server.inject({ method, url: '/made-up' })
  expect(Object.keys(await counts()).sort()).toEqual([
    'listener=public,route_group=files,route=/files/:id,method=GET,status=2xx',
    'listener=public,route_group=unknown,route=unknown,method=GET,status=4xx',
    'listener=public,route_group=unknown,route=unknown,method=other,status=4xx'
  ])
  expect((await server.inject('/metrics')).body).not.toContain('made-up')
})

test('a stream has no duration, a refused stream has one', async () => {
  build()
  await server.inject('/stream')
  expect(await counts()).toEqual({})
  await server.inject({ url: '/stream', headers: { 'x-bad': '1' } })
  expect(Object.keys(await counts())).toContain('listener=public,route_group=files,route=/stream,method=GET,status=4xx')
})

test.each([
  { name: 'not HTTP', bytes: 'no-http\r\n\r\n' },
  { name: 'a path with malformed encoding', bytes: 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' },
  {
    name: 'an unknown expectation',
    bytes: 'GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n'
  }
])('$name is counted as unreadable', async ({ bytes }) => {
  build()
  await server.listen({ host: '127.0.0.1', port: 0 })
  const address = server.server.address()
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  socket.write(bytes)
  await text(socket)
  const { body } = await server.inject('/metrics')
  expect(body).toContain('valetkey_http_unreadable_requests_total{listener="public"} 1\n')
})

test('/metrics is Prometheus text, is not cached, and is logged below info', async () => {
  const lines: string[] = []
  build('info', lines)
  const { statusCode, headers } = await server.inject('/metrics')
  expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'no-store'
  ])
  expect(lines).toEqual([])
})
