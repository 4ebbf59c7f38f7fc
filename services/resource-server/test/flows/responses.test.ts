import { afterEach, describe, expect, test } from '@jest/globals'
import { IntrospectionUnavailableError } from '@valetkey/guard'
import { StoreUnavailable } from '@valetkey/service-kit'
import { authorization, build, closeApp, get, live, send } from '../support/files-app.js'

afterEach(closeApp)

const etagOf = async (path = '/v1/files') => String((await get(path)).headers.etag)

test.each([
  { name: 'the tag', header: (tag: string) => tag, status: 304 },
  { name: 'the tag, weakened on its way', header: (tag: string) => `W/${tag}`, status: 304 },
  { name: 'the tag among others', header: (tag: string) => `"x", W/"y", ${tag}`, status: 304 },
  { name: 'any tag', header: () => '*', status: 304 },
  { name: 'other tags', header: () => '"x", W/"y"', status: 200 },
  { name: 'the tag without its quotes', header: (tag: string) => tag.slice(1, -1), status: 200 }
])('If-None-Match with $name: $status for GET and for HEAD (RFC 9110 §13.1.2)', async ({ header, status }) => {
  build()
  const headers = { authorization, 'if-none-match': header(await etagOf()) }
  for (const method of ['GET', 'HEAD'] as const) {
    const response = await send({ method, url: '/v1/files', headers })
    expect(response.statusCode).toBe(status)
    expect(response.payload === '').toBe(status === 304 || method === 'HEAD')
    expect(response.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'Authorization' })
    expect(response.headers.etag).toBe(await etagOf())
  }
})

test('two pages have different entity tags', async () => {
  build()
  expect(await etagOf('/v1/files?page_size=1')).not.toBe(await etagOf('/v1/files?page_size=2'))
  expect(await etagOf('/v1/files?page_size=2')).toBe(await etagOf('/v1/files?page_size=2'))
})

const unreachable = () => Promise.reject(new IntrospectionUnavailableError('unreachable', 'refused'))
const gone = () => Promise.reject(new StoreUnavailable('postgres', new Error('gone')))
const broken = () => Promise.reject(new Error('relation "files" does not exist'))

test.each([
  { from: 'the guard', status: 401, url: '/v1/files', headers: {} },
  { from: 'the guard', status: 400, url: '/v1/files?access_token=x', headers: {} },
  { from: 'the guard', status: 403, change: { introspect: async () => ({ ...live, scope: new Set(['other']) }) } },
  { from: 'the guard', status: 503, change: { introspect: unreachable } },
  { from: 'the parameters', status: 400, url: '/v1/files?page_size=0' },
  { from: 'the page token', status: 400, url: '/v1/files?page_token=x' },
  { from: 'the user', status: 403, change: { introspect: async () => ({ ...live, subject: undefined }) } },
  { from: 'the store', status: 503, change: { list: gone } },
  { from: 'a fault of ours', status: 500, change: { list: broken } },
  { from: 'the address', status: 404, url: '/v1/nothing' }
])(
  'a refusal looks the same wherever it comes from: $status from $from (RFC 9457)',
  async ({ status, url = '/v1/files', headers = { authorization }, change = {} }) => {
    build(change)
    const response = await get(url, headers as Record<string, string>)
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers).not.toHaveProperty('etag')
    const { title, status: told, detail, ...rest } = response.json()
    expect([typeof title, told, typeof detail]).toEqual(['string', status, 'string'])
    // No instance, no request id, and nothing that differs between them, except the code of the guard.
    expect(Object.keys(rest)).toEqual(rest.error === undefined ? [] : ['error'])
    expect(response.payload).not.toContain(String(response.headers['x-request-id']))
    expect(response.payload).not.toContain('relation')
    // The same for HEAD.
    const head = await send({ method: 'HEAD', url, headers: headers as Record<string, string> })
    expect(head.payload).toBe('')
    for (const name of ['content-type', 'content-length', 'cache-control', 'www-authenticate', 'retry-after']) {
      expect(head.headers[name]).toBe(response.headers[name])
    }
  }
)

test.each(['/v1/%ff', '/v1/%zz', '/v1/files%'])('the malformed path %s gets problem details', async (url) => {
  build()
  const response = await get(url)
  expect(response.statusCode).toBe(400)
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(response.headers['cache-control']).toBe('no-store')
  const detail = 'The request could not be read.'
  expect(response.json()).toEqual({ title: 'Bad Request', status: 400, detail })
})

test('a page token is valid until its key is removed from PAGE_TOKEN_KEYS', async () => {
  const [oldKey, newKey] = ['o'.repeat(32), 'n'.repeat(32)]
  build({ pageTokenKeys: [oldKey] })
  const { next_page_token: token } = (await get('/v1/files?page_size=2')).json()
  for (const { pageTokenKeys, status } of [
    { pageTokenKeys: [newKey, oldKey], status: 200 },
    { pageTokenKeys: [newKey], status: 400 }
  ]) {
    await closeApp()
    build({ pageTokenKeys })
    expect((await get(`/v1/files?page_size=2&page_token=${token}`)).statusCode).toBe(status)
  }
})

test.each([
  { scope: 'files.read:images files.read:documents', kinds: ['documents', 'images'] },
  { scope: 'files.read:documents files.read:images', kinds: ['documents', 'images'] }
])('the order of scopes in a token does not change the kinds ($scope)', async ({ scope, kinds }) => {
  const queried: unknown[] = []
  build({
    introspect: async () => ({ ...live, scope: new Set(scope.split(' ')) }),
    list: async (query) => {
      queried.push(query.kinds)
      return { filesJson: '', count: 0, next: undefined }
    }
  })
  await get('/v1/files')
  expect(queried).toEqual([kinds])
})

describe('a form beside the token (contract 4, RFC 6750 §2.2)', () => {
  const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' }

  test.each([
    { payload: 'access_token=x', status: 400 },
    { payload: `a=b&access_token=${authorization.slice(7)}`, status: 400 },
    { payload: 'a=b', status: 200 },
    { payload: 'a'.repeat(16 * 1024), status: 200 },
    { payload: 'a'.repeat(16 * 1024 + 1), status: 413 }
  ])('of a GET or a HEAD: $status', async ({ payload, status }) => {
    build()
    for (const method of ['GET', 'HEAD'] as const) {
      const response = await send({ method, url: '/v1/files', headers: form, payload })
      expect(response.statusCode).toBe(status)
      if (status === 400) expect(response.headers['www-authenticate']).toContain('error="invalid_request"')
    }
  })

  test('is not read without an access token', async () => {
    build()
    const { authorization: _, ...headers } = form
    expect((await send({ url: '/v1/files', headers, payload: 'access_token=x' })).statusCode).toBe(401)
  })
})
