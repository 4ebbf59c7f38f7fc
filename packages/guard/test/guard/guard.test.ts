import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createGuard, type Guard, IntrospectionUnavailableError } from '../../src/index.js'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { bearer, ISSUER, live, RESOURCE } from '../guarded-api.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let guard: Guard
let logged: object[] = []
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
beforeEach(() => {
  logged = []
  endpoint.answers(json(live))
})
afterAll(() => endpoint.close())

const log = {
  info: (members: object) => logged.push(members),
  warn: (members: object) => logged.push(members),
  error: (members: object) => logged.push(members)
}
const basics = { issuer: ISSUER, resource: RESOURCE, scopesSupported: ['files.read'], log }
const build = () =>
  createGuard({ ...basics, introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' } })
const request = { method: 'GET', url: '/files', rawHeaders: ['Authorization', bearer] }

test('check: an accepted request has its token', async () => {
  guard = build()
  expect(await guard.check(request, ['files.read'])).toMatchObject({
    kind: 'accepted',
    accessToken: { subject: 'alice-id' }
  })
  await guard.close()
})

test('check: a refusal has status, headers, problem and reason, and is logged without the token', async () => {
  guard = build()
  const outcome = await guard.check(request, ['files.write'])
  expect(outcome).toMatchObject({
    kind: 'refused',
    status: 403,
    reason: 'insufficient_scope',
    headers: { 'www-authenticate': expect.stringContaining('scope="files.write"') },
    problem: { status: 403, error: 'insufficient_scope' }
  })
  expect(logged).toEqual([{ event: 'access_token_refused', reason: 'insufficient_scope', jti: 'token-1' }])
  await guard.close()
})

test('check after close: unavailable; a second close has no effect', async () => {
  guard = build()
  await Promise.all([guard.close(), guard.close()])
  await guard.close()
  expect(await guard.check(request)).toMatchObject({ kind: 'unavailable', status: 503, retryAfter: 2 })
})

test.each([
  { name: 'a log of the request', context: { log: { ...log, info: () => logged.push({ own: true }) } }, own: true },
  { name: 'no log of the request', context: {}, own: false }
])('check with $name: the refusal is logged there ($own)', async ({ context, own }) => {
  guard = build()
  await guard.check({ ...request, rawHeaders: ['Authorization', 'Bearer a b'] }, [], context)
  expect(logged).toEqual([own ? { own } : { event: 'access_token_refused', reason: 'malformed' }])
  await guard.close()
})

test.each([
  { name: 'text', form: 'a=b&access_token=x' },
  { name: 'bytes', form: Buffer.from('access_token=x') },
  { name: 'an object', form: { access_token: 'x' } },
  { name: 'a list', form: { access_token: ['x'] } }
])('checkForm: a token in $name is an invalid_request (RFC 6750 §2.2)', async ({ form }) => {
  guard = build()
  expect(guard.checkForm(form, ['files.read'])).toMatchObject({ status: 400, reason: 'token_in_body' })
  await guard.close()
})

test.each([undefined, null, '', 'a=access_token', 'access_token=', { access_token: '' }, {}, 7])(
  'checkForm: %j has no token',
  async (form) => {
    guard = build()
    expect(guard.checkForm(form)).toBeUndefined()
    await guard.close()
  }
)

test('a custom introspector is not closed; statistics are undefined without its own', async () => {
  let closed = 0
  const introspect = () => Promise.reject(new IntrospectionUnavailableError('timeout', 'too late'))
  const close = async () => {
    closed += 1
  }
  guard = createGuard({ ...basics, introspection: { introspect, close } })
  expect(await guard.check(request)).toMatchObject({ kind: 'unavailable', reason: 'timeout' })
  await guard.close()
  expect([closed, guard.statistics()]).toEqual([0, undefined])
})

test('metadata: path and URL between host and path of the resource (RFC 9728 §3.1)', async () => {
  const introspection = { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  guard = createGuard({ ...basics, resource: 'https://api.example/mcp', introspection })
  expect(guard.metadata).toMatchObject({
    path: '/.well-known/oauth-protected-resource/mcp',
    url: 'https://api.example/.well-known/oauth-protected-resource/mcp',
    document: { resource: 'https://api.example/mcp' }
  })
  await guard.close()
})
