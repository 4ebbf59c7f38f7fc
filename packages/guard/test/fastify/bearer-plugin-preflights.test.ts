import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type FastifyInstance, type FastifyServerOptions, fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { createGuard, type Guard } from '../../src/index.js'

const RESOURCE = 'https://files.example/api'
const authorization = 'Bearer abc'
const result = {
  active: true as const,
  scope: new Set(['files.read']),
  audience: [RESOURCE],
  subject: 'alice-id',
  clientId: undefined,
  issuer: undefined,
  tokenType: undefined,
  expiresAt: undefined,
  tokenId: undefined,
  grantId: undefined,
  isSenderConstrained: false
}

let guard: Guard
let app: FastifyInstance
beforeAll(() => {
  guard = createGuard({
    issuer: 'https://auth.example',
    resource: RESOURCE,
    scopesSupported: ['files.read'],
    tokenFormat: 'any',
    anyOrigin: true,
    introspection: { introspect: () => result, close: async () => {} }
  })
})
afterEach(() => app.close())

async function startApp(options: FastifyServerOptions = {}): Promise<void> {
  app = fastify(options)
  await app.register(bearerPlugin, { guard })
}

const guarded = () => ({ onRequest: app.requireAccessToken('files.read') })
const handler = async () => 'served'

function sendPreflight(url: string) {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
  return app.inject({ method: 'OPTIONS', url, headers })
}

async function expectPreflight(url: string): Promise<void> {
  const { statusCode, headers } = await sendPreflight(url)
  expect([url, statusCode, headers['access-control-allow-headers']]).toEqual([url, 204, 'authorization, *'])
}

describe('a guarded / route below a prefix: preflight requests with and without the trailing slash are 204', () => {
  test.each<[string, FastifyServerOptions, 'GET' | 'POST']>([
    ['GET', {}, 'GET'],
    ['GET without HEAD routes', { exposeHeadRoutes: false }, 'GET'],
    ['POST', {}, 'POST'],
    ['GET, ignoring trailing slashes', { routerOptions: { ignoreTrailingSlash: true } }, 'GET']
  ])('%s', async (_name, options, method) => {
    await startApp(options)
    app.register(async (scope) => void scope.route({ method, url: '/', ...guarded(), handler }), { prefix: '/files' })
    await expectPreflight('/files')
    await expectPreflight('/files/')
    expect((await app.inject({ method, url: '/files/', headers: { authorization } })).body).toBe('served')
  })

  test('with another guarded route of the same path', async () => {
    await startApp()
    app.register(
      async (scope) => {
        scope.get('/', guarded(), handler)
        scope.post('/', guarded(), handler)
      },
      { prefix: '/files' }
    )
    await expectPreflight('/files')
    await expectPreflight('/files/')
  })
})

test.each([
  ['slash', '/files/', '/files'],
  ['no-slash', '/files', '/files/']
] as const)('prefixTrailingSlash %s: a preflight request of %s is 204, of %s 404', async (choice, served, unserved) => {
  await startApp()
  app.register(async (scope) => void scope.get('/', { ...guarded(), prefixTrailingSlash: choice }, handler), {
    prefix: '/files'
  })
  await expectPreflight(served)
  expect((await sendPreflight(unserved)).statusCode).toBe(404)
})

describe('a guarded route that has OPTIONS itself: preflight requests are 204, other OPTIONS need a token', () => {
  test.each<[string, () => void]>([
    ['app.all', () => void app.all('/files', guarded(), handler)],
    ['a list of methods', () => void app.route({ method: ['GET', 'OPTIONS'], url: '/files', ...guarded(), handler })]
  ])('%s', async (_name, addRoute) => {
    await startApp()
    addRoute()
    await expectPreflight('/files')
    expect((await app.inject({ method: 'OPTIONS', url: '/files' })).statusCode).toBe(401)
    const accepted = await app.inject({ method: 'OPTIONS', url: '/files', headers: { authorization } })
    expect(accepted.body).toBe('served')
  })
})

test.each(['before', 'after'])('an OPTIONS route of the API %s the guarded route is used', async (place) => {
  await startApp()
  const addOptions = () => app.options('/files', async () => 'own')
  if (place === 'before') addOptions()
  app.get('/files', guarded(), handler)
  if (place === 'after') addOptions()
  expect((await sendPreflight('/files')).body).toBe('own')
})

describe('the guard as a hook of a scope:', () => {
  const addScope = (addRoutes: (scope: FastifyInstance) => void) =>
    app.register(
      async (scope) => {
        scope.addHook('onRequest', app.requireAccessToken('files.read'))
        addRoutes(scope)
      },
      { prefix: '/files' }
    )

  test('a preflight request of a route with OPTIONS is 204', async () => {
    await startApp()
    addScope((scope) => scope.all('/all', handler))
    await expectPreflight('/files/all')
  })

  test('with the OPTIONS route of the README, a preflight request of each path is 204', async () => {
    await startApp()
    addScope((scope) => {
      scope.get('/', handler)
      scope.get('/:name', handler)
      scope.options('*', (_request, reply) => reply.callNotFound())
    })
    for (const path of ['/files', '/files/', '/files/a']) await expectPreflight(path)
    const other = await app.inject({ method: 'OPTIONS', url: '/files', headers: { authorization } })
    expect(other.statusCode).toBe(404)
  })

  test('a preflight request is 204 if the hook is of the whole server', async () => {
    await startApp()
    app.addHook('onRequest', app.requireAccessToken('files.read'))
    app.get('/files', handler)
    await expectPreflight('/files')
  })
})

test('any origin can read the 404 of an unknown path and of a method that the guarded path lacks', async () => {
  await startApp()
  app.get('/files', guarded(), handler)
  for (const [method, url] of [
    ['GET', '/unknown'],
    ['DELETE', '/files']
  ] as const) {
    const { statusCode, headers } = await app.inject({ method, url, headers: { origin: 'https://app.example' } })
    expect([statusCode, headers['access-control-allow-origin']]).toEqual([404, '*'])
  }
})
