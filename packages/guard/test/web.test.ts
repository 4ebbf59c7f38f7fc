import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGuard, type Guard } from '../src/index.js'
import { checkRequest, metadataResponse, protect, toResponse } from '../src/web.js'
import { json, startFakeEndpoint } from './fake-introspection-endpoint.js'
import { bearer, ISSUER, live, RESOURCE } from './guarded-api.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let guard: Guard
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  endpoint.answers(json(live))
  guard = createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: [],
    anyOrigin: true,
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })
})
afterAll(async () => {
  await guard.close()
  await endpoint.close()
})

const request = (init: RequestInit = {}) =>
  new Request(`${RESOURCE}/files`, { headers: { authorization: bearer }, ...init })

test('checkRequest does not read the body', async () => {
  const post = request({ method: 'POST', body: 'access_token=x' })
  expect(await checkRequest(guard, post, ['files.read'])).toMatchObject({ kind: 'accepted' })
  expect(await post.text()).toBe('access_token=x')
})

test('toResponse: the refusal with its challenge', async () => {
  const outcome = await checkRequest(guard, request(), ['files.write'])
  if (outcome.kind === 'accepted') throw new Error('accepted')
  const response = toResponse(outcome)
  expect([response.status, await response.json()]).toEqual([403, outcome.problem])
  expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
})

test('protect passes further arguments on, as Next needs them', async () => {
  const handler = protect(guard, [], (_request, { subject }, context: { id: string }) =>
    Response.json([subject, context.id])
  )
  expect(await (await handler(request(), { id: '7' })).json()).toEqual(['alice-id', '7'])
})

test.each([
  {
    name: 'a redirect, whose headers cannot be changed',
    make: () => Response.redirect('https://api.example/', 302),
    status: 302
  },
  { name: 'an empty response', make: () => new Response(null, { status: 204 }), status: 204 },
  { name: 'a stream', make: () => new Response(new Blob(['in']).stream(), { headers: { etag: '"1"' } }), status: 200 }
])('protect allows any origin to read $name', async ({ make, status }) => {
  const response = await protect(guard, [], make)(request())
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([status, '*'])
})

test('protect keeps the origin that the handler allows, and adds to the headers that it exposes', async () => {
  const own = { 'access-control-allow-origin': 'https://app.example', 'access-control-expose-headers': 'Link' }
  const { headers } = await protect(guard, [], () => new Response(null, { headers: own }))(request())
  expect(headers.get('access-control-allow-origin')).toBe('https://app.example')
  expect(headers.get('access-control-expose-headers')).toBe(
    'Link, www-authenticate, dpop-nonce, retry-after, etag, x-request-id'
  )
})

test('protect: an error of the handler reaches the framework', async () => {
  const handler = protect(guard, [], () => Promise.reject(new Error('of the handler')))
  await expect(handler(request())).rejects.toThrow('of the handler')
})

test.each(['GET', 'POST', 'OPTIONS'])('metadataResponse for another path, %s: undefined', (method) => {
  const url = `${RESOURCE}/.well-known/oauth-protected-resource/other`
  expect(metadataResponse(guard, new Request(url, { method }))).toBeUndefined()
})
