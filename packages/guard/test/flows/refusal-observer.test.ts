import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { bearer, buildApi, live } from '../guarded-api.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let app: FastifyInstance
let reasons: string[] = []

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  app = await buildApi(endpoint.url, { onRefusal: (reason) => reasons.push(reason) })
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.post('/files', { onRequest: app.requireAccessToken() }, async () => ({}))
})
afterAll(async () => {
  await app.close()
  await endpoint.close()
})

test.each([
  { name: 'a valid token', request: { url: '/files' }, expected: [] },
  { name: 'an insufficient scope', request: { url: '/both' }, expected: ['insufficient_scope'] },
  { name: 'a token in the query', request: { url: '/files?access_token=x' }, expected: ['token_in_query'] },
  { name: 'no token', request: { url: '/files', headers: {} }, expected: [] },
  {
    name: 'a token that was never issued',
    request: { url: '/files', headers: { authorization: 'Bearer x' } },
    expected: ['never_issued']
  },
  {
    name: 'a second token in the form',
    request: {
      method: 'POST' as const,
      url: '/files',
      headers: { authorization: bearer, 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'access_token=x'
    },
    expected: ['token_in_body']
  }
])('onRefusal for $name: $expected', async ({ request, expected }) => {
  endpoint.answers(json(live))
  reasons = []
  await app.inject({ headers: { authorization: bearer }, ...request })
  expect(reasons).toEqual(expected)
})
