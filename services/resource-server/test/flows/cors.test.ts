import { afterEach, describe, expect, test } from '@jest/globals'
import { IntrospectionUnavailableError } from '@valetkey/guard'
import { StoreUnavailable } from '@valetkey/service-kit'
import { authorization, build, closeApp, live, send } from '../support/files-app.js'

afterEach(closeApp)

const origin = 'https://spa.example'
const EXPOSED = ['www-authenticate', 'dpop-nonce', 'etag', 'retry-after', 'x-request-id']

const names = (header: unknown): string[] => String(header).split(', ')
const corsOf = (headers: Record<string, unknown>): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control'))

describe('CORS of /v1/files (contract 4)', () => {
  test('a preflight without a token: 204, any origin, GET and HEAD with Authorization and If-None-Match', async () => {
    build({ introspect: () => Promise.reject(new Error('a preflight has no token')) })
    const { statusCode, headers, payload } = await send({
      method: 'OPTIONS',
      url: '/v1/files?page_size=5',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,if-none-match'
      }
    })
    expect([statusCode, payload]).toEqual([204, ''])
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(names(headers['access-control-allow-methods'])).toEqual(['GET', 'HEAD'])
    expect(names(headers['access-control-allow-headers'])).toEqual(['authorization', 'if-none-match'])
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  })

  test.each([
    ['traceparent,sentry-trace,baggage', ['authorization', 'if-none-match', 'traceparent', 'sentry-trace', 'baggage']],
    ['not a list', ['authorization', 'if-none-match']]
  ])('a preflight that asks for the headers %s', async (requested, allowed) => {
    build()
    const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': requested }
    for (const url of ['/v1/files', '/v1/openapi.json', '/v1/unknown']) {
      const { statusCode, headers } = await send({ method: 'OPTIONS', url, headers: { origin, ...asked } })
      expect([url, statusCode, names(headers['access-control-allow-headers'])]).toEqual([url, 204, allowed])
    }
  })

  test.each([
    { name: 'a page', status: 200 },
    { name: 'an unchanged page', status: 304, headers: { authorization, origin, 'if-none-match': '*' } },
    { name: 'a bad parameter', status: 400, url: '/v1/files?page_size=0' },
    { name: 'a token in the query', status: 400, url: `/v1/files?access_token=${authorization.slice(7)}` },
    { name: 'no token', status: 401, headers: { origin } },
    { name: 'an unknown token', status: 401, headers: { origin, authorization: 'Bearer unknown' } },
    {
      name: 'a token without a file scope',
      status: 403,
      change: { introspect: async () => ({ ...live, scope: new Set(['other']) }) }
    },
    { name: 'an unknown path', status: 404, url: '/v1/file' },
    { name: 'a wrong method', status: 405, method: 'DELETE' as const },
    { name: 'an unexpected error', status: 500, change: { list: () => Promise.reject(new Error('unexpected')) } },
    {
      name: 'an outage of Postgres',
      status: 503,
      change: { list: () => Promise.reject(new StoreUnavailable('postgres', new Error('lost'))) }
    },
    {
      name: 'an outage of the authorization server',
      status: 503,
      change: { introspect: () => Promise.reject(new IntrospectionUnavailableError('unreachable', 'refused')) }
    }
  ])('any origin can read the response to $name ($status) with its headers, without credentials mode', async (row) => {
    build(row.change ?? {})
    const { method = 'GET', url = '/v1/files' } = row
    const { statusCode, headers } = await send({ method, url, headers: row.headers ?? { authorization, origin } })
    expect(statusCode).toBe(row.status)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(names(headers['access-control-expose-headers'])).toEqual(EXPOSED)
    expect(corsOf(headers)).toEqual(['access-control-allow-origin', 'access-control-expose-headers'])
  })

  test('the path of RESOURCE_URL is before the path of the preflight', async () => {
    build({ resourceUrl: 'https://example.com/api' })
    expect((await send({ method: 'OPTIONS', url: '/api/v1/files' })).statusCode).toBe(204)
    expect((await send({ method: 'OPTIONS', url: '/v1/files' })).statusCode).toBe(404)
  })
})

test('the operator listener allows no origin', async () => {
  const { operatorServer } = build()
  for (const method of ['GET', 'OPTIONS'] as const) {
    const { headers } = await operatorServer.inject({ method, url: '/metrics', headers: { origin } })
    expect(corsOf(headers)).toEqual([])
  }
})
