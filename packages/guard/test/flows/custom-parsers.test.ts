import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type FastifyInstance, type FastifyServerOptions, fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'

const RESOURCE = 'https://files.example/api'
const FORM = 'application/x-www-form-urlencoded'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
afterAll(() => endpoint?.close())

/** The status of a request to an API with its own parsers. */
async function statusOf(server: FastifyInstance, request: { url?: string; payload?: string }): Promise<number> {
  endpoint.answers(json({ active: true, aud: RESOURCE, scope: 'files.read' }))
  const introspection = { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  const settings = { issuer: 'https://auth.example', resource: RESOURCE, scopesSupported: [], introspection }
  await server.register(bearerPlugin, { ...settings, tokenFormat: 'any' })
  server.post('/files', { onRequest: server.requireAccessToken() }, async () => 'in')
  const headers = { authorization: 'Bearer abc', 'content-type': FORM }
  const { statusCode } = await server.inject({ method: 'POST', url: '/files', payload: 'a=b', headers, ...request })
  await server.close()
  return statusCode
}

test.each([
  { parseAs: 'buffer', payload: 'a=b', status: 200 },
  { parseAs: 'buffer', payload: 'access_token=abc', status: 400 },
  { parseAs: 'string', payload: 'a=b', status: 200 },
  { parseAs: 'string', payload: 'access_token=abc', status: 400 }
] as const)('a form parsed as a $parseAs with the body $payload: $status', async ({ parseAs, payload, status }) => {
  const server = fastify()
  server.addContentTypeParser(FORM, { parseAs: parseAs as 'string' }, (_request, body, done) => done(null, body))
  expect(await statusOf(server, { payload })).toBe(status)
})

test('a token in a query after a semicolon, with useSemicolonDelimiter: 400', async () => {
  const options: FastifyServerOptions = { routerOptions: { useSemicolonDelimiter: true } as object }
  const server = fastify(options)
  server.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, _body, done) => done(null, {}))
  expect(await statusOf(server, { url: '/files;access_token=abc' })).toBe(400)
})
