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
  { name: 'a good token', request: { url: '/files' }, heard: [] },
  { name: 'a scope that does not fit', request: { url: '/both' }, heard: ['insufficient_scope'] },
  { name: 'a token in the query', request: { url: '/files?access_token=x' }, heard: ['token_in_query'] },
  { name: 'none at all', request: { url: '/files', headers: {} }, heard: [] },
  {
    name: 'a token that was never issued',
    request: { url: '/files', headers: { authorization: 'Bearer x' } },
    heard: ['never_issued']
  },
  {
    name: 'a second token in the form',
    request: {
      method: 'POST' as const,
      url: '/files',
      headers: { authorization: bearer, 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'access_token=x'
    },
    heard: ['token_in_body']
  }
])('whoever watches hears of $name: $heard', async ({ request, heard }) => {
  endpoint.answers(json(live))
  reasons = []
  await app.inject({ headers: { authorization: bearer }, ...request })
  expect(reasons).toEqual(heard)
})
