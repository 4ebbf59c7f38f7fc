import { afterEach, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { SCOPE_MEANINGS } from '../../src/files/file-scopes.js'
import type { OpenApiDocument } from '../support/documented-responses.js'
import { build, closeApp, get, RESOURCE, send } from '../support/files-app.js'

afterEach(closeApp)

const read = async (path = '/v1/openapi.json') => (await get(path, {})).json() as OpenApiDocument

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate((await read()) as never)).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the document is public, readable from any origin and cacheable', async () => {
  build()
  const first = await get('/v1/openapi.json', { origin: 'https://elsewhere.example' })
  expect(first.statusCode).toBe(200)
  expect(first.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    'cache-control': 'public, max-age=300'
  })
  const again = await get('/v1/openapi.json', { 'if-none-match': String(first.headers.etag) })
  expect(again.statusCode).toBe(304)
  expect(again.headers['access-control-allow-origin']).toBe('*')
  const head = await send({ method: 'HEAD', url: '/v1/openapi.json' })
  expect(head.payload).toBe('')
  expect(head.headers['content-length']).toBe(first.headers['content-length'])
  expect((await send({ method: 'POST', url: '/v1/openapi.json' })).headers.allow).toBe('GET, HEAD')
})

test('the document has the server, both security schemes and every scope', async () => {
  const document = await read()
  expect(document.servers).toEqual([{ url: RESOURCE }])
  expect(document.components.securitySchemes).toMatchObject({
    bearer: { type: 'http', scheme: 'bearer' },
    oauth2: {
      type: 'oauth2',
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://auth.example/oauth/authorize',
          tokenUrl: 'https://auth.example/token',
          scopes: SCOPE_MEANINGS
        }
      }
    }
  })
})

test('the document describes only /v1/files', async () => {
  const { paths } = await read()
  expect(Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)])).toEqual([
    ['/v1/files', ['get', 'head']]
  ])
})

test('GET /v1/files: parameters, responses and headers', async () => {
  const { get: operation } = (await read()).paths['/v1/files'] ?? {}
  expect(operation?.parameters).toMatchObject([
    { in: 'query', name: 'page_size', schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 } },
    { in: 'query', name: 'page_token', schema: { type: 'string' } },
    { in: 'header', name: 'if-none-match' }
  ])
  const responses = Object.entries(operation?.responses ?? {}).map(([status, { content, headers }]) => [
    status,
    Object.keys(content ?? {}).join(),
    Object.keys(headers ?? {}).join()
  ])
  const problem = 'application/problem+json'
  expect(responses).toEqual([
    ['200', 'application/json', 'ETag,Cache-Control,Vary,DPoP-Nonce,X-Request-Id'],
    ['304', '', 'ETag,Cache-Control,Vary,DPoP-Nonce,X-Request-Id'],
    ['400', problem, 'WWW-Authenticate,X-Request-Id'],
    ['401', problem, 'WWW-Authenticate,DPoP-Nonce,X-Request-Id'],
    ['403', problem, 'WWW-Authenticate,DPoP-Nonce,X-Request-Id'],
    ['413', problem, 'X-Request-Id'],
    ['500', problem, 'X-Request-Id'],
    ['503', problem, 'Retry-After,X-Request-Id']
  ])
})

test('HEAD /v1/files has the responses of GET without content, and its own operationId', async () => {
  const { get: full, head } = (await read()).paths['/v1/files'] ?? {}
  expect(Object.keys(head?.responses ?? {})).toEqual(Object.keys(full?.responses ?? {}))
  expect(Object.values(head?.responses ?? {}).filter(({ content }) => content !== undefined)).toEqual([])
  expect(head?.operationId).not.toBe(full?.operationId)
})

test('with a path in RESOURCE_URL, the document is below that path', async () => {
  build({ resourceUrl: 'https://example.com/api' })
  const { servers, paths } = await read('/api/v1/openapi.json')
  expect(servers).toEqual([{ url: 'https://example.com/api' }])
  expect(Object.keys(paths)).toEqual(['/v1/files'])
  expect((await get('/v1/openapi.json')).statusCode).toBe(404)
})
