import { afterEach, expect, test } from '@jest/globals'
import { type IntrospectionResult, IntrospectionUnavailableError } from '@valetkey/guard'
import { StoreUnavailable } from '@valetkey/service-kit'
import { FILE_SCOPES } from '../../src/files/file-scopes.js'
import type { FileQuery } from '../../src/storage/file-record.js'
import { authorization, build, closeApp, EMPTY_PAGE, get, live, RESOURCE, send, stored } from '../support/files-app.js'

afterEach(closeApp)

test('a page has exactly the members of the contract, in order (contract 4)', async () => {
  build()
  const response = await get('/v1/files?page_size=1')
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.payload).toMatch(
    /^\{"files":\[\{"id":"0197f0a1-2b3c-7d4e-8f50-000000000000","name":"file 0\.txt","mime_type":"text\/plain","size":9007199254740992,"created_at":"2026-10-31T00:00:00\.000Z","modified_at":"2026-11-01T00:00:00\.000Z"\}\],"next_page_token":"[\w-]+"\}$/
  )
})

test('sizes beyond 2^53 keep every digit', async () => {
  build()
  expect((await get('/v1/files')).payload).toContain('"size":9007199254740993')
})

test('next_page_token gives access to all pages; the last page has none', async () => {
  build()
  const names: string[] = []
  let next: string | undefined
  const sizes: number[] = []
  do {
    const url = `/v1/files?page_size=2${next === undefined ? '' : `&page_token=${next}`}`
    const page: { files: { name: string }[]; next_page_token?: string } = (await get(url)).json()
    names.push(...page.files.map((file) => file.name))
    sizes.push(page.files.length)
    next = page.next_page_token
  } while (next !== undefined)
  expect(sizes).toEqual([2, 2, 1])
  expect(names).toEqual(stored.map((file) => JSON.parse(file.json).name))
})

test('a page that ends with the last file has no next_page_token', async () => {
  build()
  expect((await get('/v1/files?page_size=5')).json()).not.toHaveProperty('next_page_token')
})

test('a user without files gets an empty list', async () => {
  build({ list: async () => EMPTY_PAGE })
  expect((await get('/v1/files')).json()).toEqual({ files: [] })
})

test.each([
  { query: '', limit: 100 },
  { query: '?page_size=1', limit: 1 },
  { query: '?page_size=1000', limit: 1000 },
  { query: '?unknown=1&unknown=2', limit: 100 }
])('the query "$query" reads at most $limit files', async ({ query, limit }) => {
  const queries: FileQuery[] = []
  build({
    list: async (query) => {
      queries.push(query)
      return EMPTY_PAGE
    }
  })
  await get(`/v1/files${query}`)
  expect(queries).toEqual([{ ownerId: 'alice', kinds: 'all', after: undefined, limit }])
})

test.each([
  ...['0', '1001', '-1', '1.5', '1e2', '', '%205', '+5', '007', 'ten', '5&page_size=5', '99999999999999999999'].map(
    (value) => `page_size=${value}`
  ),
  ...['', 'nonsense', 'A'.repeat(54), 'a&page_token=b'].map((value) => `page_token=${value}`)
])('400 for %s, as problem details (contract 4, RFC 9457)', async (query) => {
  build()
  const response = await get(`/v1/files?${query}`)
  expect(response.statusCode).toBe(400)
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.json()).toMatchObject({ title: 'Bad Request', status: 400, detail: expect.stringMatching(/^page_/) })
})

test('a page token is refused with the token of another user or scope', async () => {
  let answer: IntrospectionResult = live
  build({ introspect: async () => answer })
  const { next_page_token: token } = (await get('/v1/files?page_size=1')).json()
  answer = { ...live, subject: 'bob' }
  expect((await get(`/v1/files?page_token=${token}`)).statusCode).toBe(400)
  answer = { ...live, scope: new Set(['files.read:images']) }
  expect((await get(`/v1/files?page_token=${token}`)).statusCode).toBe(400)
  answer = live
  expect((await get(`/v1/files?page_token=${token}`)).statusCode).toBe(200)
})

test('a page is private and has an ETag; If-None-Match gets 304 (RFC 9110 15.4.5)', async () => {
  build()
  const first = await get('/v1/files')
  expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization' })
  const etag = String(first.headers.etag)
  const again = await get('/v1/files', { authorization, 'if-none-match': etag })
  expect(again.statusCode).toBe(304)
  expect(again.payload).toBe('')
  expect(again.headers).toMatchObject({ etag, 'cache-control': 'private, no-cache', vary: 'Authorization' })
  expect(again.headers).not.toHaveProperty('content-type')
  expect((await get('/v1/files?page_size=1', { authorization, 'if-none-match': etag })).statusCode).toBe(200)
})

test('HEAD has the headers of GET and no body', async () => {
  build()
  const [got, head] = await Promise.all(
    (['GET', 'HEAD'] as const).map((method) => send({ method, url: '/v1/files', headers: { authorization } }))
  )
  expect(head?.statusCode).toBe(200)
  expect(head?.payload).toBe('')
  expect(head?.headers.etag).toBe(got?.headers.etag)
  expect(head?.headers['content-length']).toBe(got?.headers['content-length'])
  const headers = { authorization, 'if-none-match': String(got?.headers.etag) }
  expect((await send({ method: 'HEAD', url: '/v1/files', headers })).statusCode).toBe(304)
  expect((await send({ method: 'HEAD', url: '/v1/files' })).statusCode).toBe(401)
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)('405 with Allow for %s', async (method) => {
  build()
  const headers = { 'content-type': 'application/x-something', authorization }
  const response = await send({ method, url: '/v1/files', headers, payload: 'body' })
  expect(response.statusCode).toBe(405)
  expect(response.headers.allow).toBe('GET, HEAD, OPTIONS')
  expect(response.json()).toMatchObject({ title: 'Method Not Allowed', status: 405 })
})

test.each(['/', '/v1', '/v1/files/', '/livez', '/readyz'])('404 with problem details for %s', async (url) => {
  build()
  const response = await get(url)
  expect(response.statusCode).toBe(404)
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
})

test.each([
  { name: 'no credentials', headers: {}, status: 401, error: undefined },
  { name: 'a token that was never issued', headers: { authorization: 'Bearer x' }, status: 401, error: 'invalid_token' }
])('$name: $status; the challenge has files.read and the metadata address', async ({ headers, status, error }) => {
  build()
  const response = await get('/v1/files', headers as Record<string, string>)
  const challenge = String(response.headers['www-authenticate'])
  expect(response.statusCode).toBe(status)
  expect(challenge).toContain('scope="files.read"')
  expect(challenge).toContain(`resource_metadata="${RESOURCE}/.well-known/oauth-protected-resource"`)
  expect(/ error="(\w+)"/.exec(challenge)?.[1]).toBe(error)
})

test('a token of other scopes: 403 with scope="files.read"', async () => {
  build({ introspect: async () => ({ ...live, scope: new Set(['reports.read']) }) })
  const response = await get('/v1/files')
  expect(response.statusCode).toBe(403)
  expect(response.headers['www-authenticate']).toContain('scope="files.read", ')
  expect(response.headers['www-authenticate']).toContain('error="insufficient_scope"')
})

test('a token without a user: 403', async () => {
  build({ introspect: async () => ({ ...live, subject: undefined }) })
  expect((await get('/v1/files')).statusCode).toBe(403)
})

test.each([
  {
    name: 'the authorization server',
    change: { introspect: () => Promise.reject(new IntrospectionUnavailableError('timeout', 'no response')) }
  },
  {
    name: 'Postgres',
    change: { list: () => Promise.reject(new StoreUnavailable('postgres', new Error('connection lost'))) }
  }
])('$name unavailable: 503 with Retry-After, never 401', async ({ change }) => {
  build(change)
  const response = await get('/v1/files')
  expect(response.statusCode).toBe(503)
  expect(response.headers['retry-after']).toBe('2')
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
})

test('an unexpected error: 500 without details', async () => {
  build({ list: () => Promise.reject(new Error('relation "files" does not exist')) })
  const response = await get('/v1/files')
  expect(response.statusCode).toBe(500)
  expect(response.json()).toEqual({ title: 'Internal Server Error', status: 500, detail: 'Something went wrong here.' })
})

test('the metadata lists every file scope (RFC 9728 2)', async () => {
  build()
  expect((await get('/.well-known/oauth-protected-resource', {})).json()).toEqual({
    resource: RESOURCE,
    authorization_servers: ['https://auth.example'],
    scopes_supported: FILE_SCOPES.map(({ scope }) => scope),
    bearer_methods_supported: ['header']
  })
})

test('with a path in RESOURCE_URL, all routes are below it (RFC 9728 3.1)', async () => {
  const resourceUrl = 'https://example.com/api'
  build({ resourceUrl, introspect: async () => ({ ...live, audience: [resourceUrl] }) })
  expect((await get('/api/v1/files')).statusCode).toBe(200)
  expect((await get('/.well-known/oauth-protected-resource/api')).json()).toMatchObject({ resource: resourceUrl })
})

test.each([
  { introspect: undefined, status: 200, checks: { postgres: 'ok', introspection: 'ok' } },
  {
    introspect: () => Promise.reject(new IntrospectionUnavailableError('unreachable', 'refused')),
    status: 503,
    checks: { postgres: 'ok', introspection: 'unavailable' }
  }
])('GET /readyz on the operator listener: $status', async ({ introspect, status, checks }) => {
  const { operatorServer } = build(introspect === undefined ? {} : { introspect })
  const response = await operatorServer.inject('/readyz')
  expect(response.statusCode).toBe(status)
  expect(response.json().checks).toEqual(checks)
  expect((await operatorServer.inject('/livez')).statusCode).toBe(200)
  expect((await operatorServer.inject('/v1/files')).statusCode).toBe(404)
})
