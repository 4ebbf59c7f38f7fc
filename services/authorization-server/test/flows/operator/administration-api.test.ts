import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../support/administration.js'
import { idOf } from '../../support/audit-log.js'
import { AUDIENCE, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { introspect } from '../../support/flow.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('/admin/scopes', () => {
  const path = (name: string) => `/scopes/${encodeURIComponent(name)}`

  test('POST, GET, PATCH and DELETE of every valid scope name, each change audited', async () => {
    const name = `https://api.example/reports?all=1&x=%${'y'.repeat(60)}`
    const translations = { de: { title: 'Ihre Berichte' } }
    const created = await admin.call('POST', '/scopes', { name, title: 'Your reports', translations })
    const marks = { default: false, discoverable: false, self_service: false, selects: false, built_in: false }
    const scope = { name, title: 'Your reports', description: '', translations, ...marks }
    expect([created.statusCode, created.json()]).toEqual([201, scope])
    expect(await lastChangeIn(server)).toMatchObject({ event: 'scope_created', request_id: idOf(created) })
    expect((await admin.call('GET', path(name))).json()).toEqual(scope)
    expect((await admin.call('GET', '/scopes')).json().scopes).toContainEqual(scope)
    const patched = await admin.call('PATCH', path(name), { description: 'All.', translations: {} })
    expect(patched.json()).toEqual({ ...scope, description: 'All.', translations: {} })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'scope_updated',
      details: { actor: admin.actor, scope: name, changes: { description: { from: '', to: 'All.' } } }
    })
    const deleted = await admin.call('DELETE', path(name))
    expect([deleted.statusCode, deleted.json()]).toEqual([
      200,
      { ...scope, description: 'All.', translations: {}, taken_from: [] }
    ])
    expect(await lastChangeIn(server)).toMatchObject({ event: 'scope_deleted', details: { actor: admin.actor } })
    expect((await admin.call('GET', path(name))).statusCode).toBe(404)
  })

  test('a scope belongs to the API that POST or PATCH names; null moves it to the default API', async () => {
    const audience = 'https://photos.example'
    await admin.call('POST', '/resource-servers', { name: 'photos', audience })
    const body = { name: 'photos.read', title: 'Photos', resource: 'photos', default: true, discoverable: true }
    const created = await admin.call('POST', '/scopes', body)
    expect([created.statusCode, created.json()]).toEqual([
      201,
      expect.objectContaining({ ...body, resource: audience })
    ])
    const moved = await admin.call('PATCH', '/scopes/photos.read', { resource: null, default: false })
    expect(moved.json()).toMatchObject({ default: false, discoverable: true })
    expect(moved.json()).not.toHaveProperty('resource')
    expect(await lastChangeIn(server)).toMatchObject({
      details: { changes: { resource: { from: audience }, default: { from: true, to: false } } }
    })
    const back = await admin.call('PATCH', '/scopes/photos.read', { resource: `${audience}/` })
    expect(back.json()).toMatchObject({ resource: audience })
    expect((await admin.call('PATCH', '/scopes/files.read', { resource: 'photos' })).statusCode).toBe(409)
    expect((await admin.call('PATCH', '/scopes/photos.read', { resource: 'unknown' })).statusCode).toBe(422)
  })

  test('a client is limited to the APIs of resources, and to those of its scopes without', async () => {
    const audience = 'https://albums.example'
    await admin.call('POST', '/resource-servers', { name: 'albums', audience })
    const body = { name: 'A', redirect_uris: ['https://app.example/cb'], scope: 'files.read' }
    const made = await admin.call('POST', '/clients', { ...body, resources: ['albums', audience] })
    expect([made.statusCode, made.json().resources]).toEqual([201, [audience]])
    const path = `/clients/${made.json().client_id}`
    expect((await admin.call('PATCH', path, { name: 'B' })).json().resources).toEqual([audience])
    expect((await admin.call('PATCH', path, { resources: [] })).json().resources).toEqual([])
    expect((await admin.call('PATCH', path, { resources: ['unknown'] })).statusCode).toBe(422)
  })

  test('GET says who would lose a scope; DELETE of a scope of clients is 409; with from_clients it is deleted', async () => {
    await admin.call('POST', '/scopes', { name: 'in.use', title: 'In use' })
    const { clientId } = await server.createClient({ requiredScopes: ['files.read', 'in.use'] })
    const refused = await admin.call('DELETE', '/scopes/in.use')
    expect([refused.statusCode, refused.json().detail]).toEqual([409, expect.stringContaining(clientId)])
    expect((await admin.call('GET', '/scopes/in.use/use')).json()).toMatchObject({
      name: 'in.use',
      client_ids: [clientId],
      only_scope_of: [],
      live_grants: 0,
      users: 0,
      all_grants_read: true
    })
    const deleted = await admin.call('DELETE', '/scopes/in.use?from_clients=true')
    expect(deleted.json()).toMatchObject({ name: 'in.use', taken_from: [clientId] })
  })

  test.each([
    { name: 'a name with a space', body: { name: 'a b', title: 'x' }, status: 422 },
    { name: 'an empty title', body: { name: 'ab', title: ' ' }, status: 422 },
    { name: 'no title', body: { name: 'ab' }, status: 400 },
    { name: 'an unknown member', body: { name: 'ab', title: 'x', built_in: true }, status: 400 },
    {
      name: 'a malformed language tag',
      body: { name: 'ab', title: 'x', translations: { '?': { title: 'x' } } },
      status: 422
    },
    { name: 'an unknown text', body: { name: 'ab', title: 'x', translations: { de: { text: 'x' } } }, status: 400 },
    { name: 'the name of an existing scope', body: { name: 'files.read', title: 'x' }, status: 409 }
  ])('POST with $name is $status', async ({ body, status }) => {
    expect((await admin.call('POST', '/scopes', body)).statusCode).toBe(status)
  })

  test('PATCH without a member is 400; DELETE of a built-in scope 409, of an unknown one 404', async () => {
    expect((await admin.call('PATCH', '/scopes/files.read', {})).statusCode).toBe(400)
    expect((await admin.call('DELETE', '/scopes/files.read?from_clients=true')).statusCode).toBe(409)
    for (const name of ['unknown', '%00', 'a%20b'])
      expect((await admin.call('DELETE', `/scopes/${name}`)).statusCode).toBe(404)
  })
})

describe('/admin/resource-servers', () => {
  const works = async (made: Record<string, string>) => {
    const caller = { clientId: made.client_id ?? '', clientSecret: made.client_secret ?? '' }
    return (await introspect(server, caller, 'x')).statusCode === 200
  }

  test('POST creates a valid credential, rotate a second one, DELETE ends the first; each is audited', async () => {
    const first = (await admin.call('POST', '/resource-servers', { name: 'files', audience: AUDIENCE })).json()
    expect(await works(first)).toBe(true)
    const listed = await admin.call('GET', '/resource-servers')
    const { client_secret: _secret, ...shown } = first
    expect(listed.json().resource_servers).toContainEqual({ ...shown, created_at: expect.any(String) })
    expect(listed.body).not.toContain('vk_cs_')
    const rotated = await admin.call('POST', `/resource-servers/${first.client_id}/rotate`)
    const second = rotated.json()
    expect([rotated.statusCode, second.audience]).toEqual([201, AUDIENCE])
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_created',
      request_id: idOf(rotated),
      client_id: second.client_id,
      details: { actor: admin.actor, replaces: first.client_id }
    })
    expect([await works(first), await works(second)]).toEqual([true, true])
    expect((await admin.call('DELETE', `/resource-servers/${first.client_id}`)).statusCode).toBe(200)
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_deleted',
      client_id: first.client_id,
      details: { actor: admin.actor }
    })
    expect([await works(first), await works(second)]).toEqual([false, true])
    expect((await admin.call('GET', `/resource-servers/${first.client_id}`)).statusCode).toBe(404)
  })

  test('PATCH sets the title of the API, for all of its credentials, and is audited', async () => {
    const audience = 'https://titles.example'
    const first = (await admin.call('POST', '/resource-servers', { name: 'titles', audience, title: 'Old' })).json()
    const second = (await admin.call('POST', `/resource-servers/${first.client_id}/rotate`)).json()
    expect([first.title, second.title]).toEqual(['Old', 'Old'])
    const path = `/resource-servers/${first.client_id}`
    expect((await admin.call('PATCH', path, { title: 'New' })).json()).toMatchObject({ title: 'New' })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_updated',
      details: { audience, changes: { title: { from: 'Old', to: 'New' } } }
    })
    expect((await admin.call('GET', `/resource-servers/${second.client_id}`)).json().title).toBe('New')
    expect((await admin.call('PATCH', path, { title: '' })).json()).not.toHaveProperty('title')
    expect((await admin.call('PATCH', '/resource-servers/unknown', { title: 'x' })).statusCode).toBe(404)
  })

  test('POST with another spelling of a registered audience is 409 (RFC 3986 §6.2.3)', async () => {
    await admin.call('POST', '/resource-servers', { name: 'files', audience: AUDIENCE })
    const other = await admin.call('POST', '/resource-servers', { name: 'files', audience: `${AUDIENCE}/` })
    expect([other.statusCode, other.json().detail]).toEqual([409, expect.stringContaining('another spelling')])
  })

  test.each([
    { name: 'a quotation mark in the audience', body: { name: 'files', audience: 'https://h.example/"' }, status: 422 },
    { name: 'not a URL', body: { name: 'files', audience: 'files' }, status: 422 },
    { name: 'an empty name', body: { name: '', audience: AUDIENCE }, status: 422 },
    { name: 'a secret', body: { name: 'files', audience: AUDIENCE, client_secret: 'x' }, status: 400 }
  ])('POST with $name is $status', async ({ body, status }) => {
    expect((await admin.call('POST', '/resource-servers', body)).statusCode).toBe(status)
  })

  test.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/rotate']
  ] as const)('%s /resource-servers/unknown%s is 404', async (method, rest) => {
    for (const id of ['unknown', '%00'])
      expect((await admin.call(method, `/resource-servers/${id}${rest}`)).statusCode).toBe(404)
  })
})

describe('edges of the API', () => {
  const NAME_RULE = 'a name must have 1 to 100 characters, at least one of them visible, and no control characters'
  const JSON_TYPE = { 'content-type': 'application/json' }

  describe('invalid input is refused with the name of the member, and nothing is changed', () => {
    test.each([
      { name: 'an unknown member', body: { name: 'x', nmae: 'y' }, status: 400, detail: 'There is no member "nmae".' },
      { name: 'a missing member', body: {}, status: 400, detail: 'The member "name" is missing.' },
      { name: 'a number for a text', body: { name: 7 }, status: 400, detail: 'The member name must be a string.' },
      { name: 'null', body: 'null', status: 400, detail: 'The body must be an object.' },
      { name: 'a list', body: [], status: 400, detail: 'The body must be an object.' },
      {
        name: 'ISO-8859-1',
        body: Buffer.from('{"name":"Bücher"}', 'latin1'),
        status: 400,
        detail: 'The body is not UTF-8 but ISO-8859-1: convert it (iconv -f ISO-8859-1 -t UTF-8).'
      },
      { name: 'not JSON', body: '{"name":', status: 400, detail: 'The request could not be read.' },
      { name: 'an empty body', body: '', status: 400, detail: 'The body must be an object.' },
      {
        name: 'a member named __proto__',
        body: '{"name":"x","__proto__":{}}',
        status: 400,
        detail: 'The request could not be read.'
      },
      { name: 'a value that breaks a rule', body: { name: ' ' }, status: 422, detail: NAME_RULE },
      { name: 'a name without visible characters', body: { name: '\u200b' }, status: 422, detail: NAME_RULE },
      { name: 'a lone surrogate', body: { name: 'a\ud800' }, status: 422, detail: NAME_RULE },
      { name: 'a body over 16 KiB', body: { name: 'x'.repeat(17_000) }, status: 413, detail: 'The body is too large.' }
    ])('$name: $status', async ({ body, status, detail }) => {
      const answer = await admin.call('POST', '/operator-keys', body, JSON_TYPE)
      expect(answer.json()).toEqual({ title: expect.any(String), status, detail })
      expect(answer.statusCode).toBe(status)
      expect(answer.headers).toMatchObject({
        'content-type': expect.stringMatching(/^application\/problem\+json/),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff'
      })
      expect((await admin.call('GET', '/operator-keys')).json().operator_keys).toHaveLength(1)
    })

    test('a compressed body is 415, after the key was checked', async () => {
      const coding = { ...JSON_TYPE, 'content-encoding': 'gzip' }
      const answer = await admin.call('POST', '/operator-keys', { name: 'x' }, coding)
      expect([answer.statusCode, answer.headers['accept-encoding']]).toEqual([415, 'identity'])
      expect(answer.json().detail).toBe('The body must not be compressed: send it without Content-Encoding.')
      const withoutKey = { ...coding, authorization: 'Bearer unknown' }
      expect((await admin.call('POST', '/operator-keys', { name: 'x' }, withoutKey)).statusCode).toBe(401)
    })

    test('a form is 415', async () => {
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await admin.call('POST', '/operator-keys', 'name=x', form)).statusCode).toBe(415)
    })
  })

  test('a lone surrogate in a text of a scope is 422', async () => {
    const answer = await admin.call('POST', '/scopes', { name: 'x.read', title: 'a\ud800', description: 'b' })
    expect(answer.statusCode).toBe(422)
  })

  describe('addresses and methods', () => {
    test('a wrong method is 405 with Allow, also with an id in the path', async () => {
      const list = await admin.call('PUT', '/operator-keys', {})
      expect([list.statusCode, list.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
      const one = await admin.call('GET', '/operator-keys/some-id')
      expect([one.statusCode, one.headers.allow]).toEqual([405, 'DELETE'])
    })

    test.each(['', '/', '/nowhere', '/operator-keys/', '/operator-keys/a/b'])(
      '%j is 404 with problem details',
      async (path) => {
        const answer = await admin.call('GET', path)
        expect(answer.json()).toEqual({ title: 'Not Found', status: 404, detail: 'There is nothing at this address.' })
      }
    )
  })

  test('a malformed path gets problem details', async () => {
    const answer = await admin.call('GET', '/users/%zz')
    expect(answer.json()).toEqual({ title: 'Bad Request', status: 400, detail: 'The request could not be read.' })
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test('no CORS headers, also not for a preflight', async () => {
    const origin = { origin: 'https://elsewhere.example' }
    const answer = await admin.call('GET', '/operator-keys', undefined, origin)
    const preflight = await server.operatorServer.inject({
      method: 'OPTIONS',
      url: '/admin/operator-keys',
      headers: { ...origin, 'access-control-request-method': 'POST' }
    })
    expect(preflight.statusCode).toBe(401)
    for (const { headers } of [answer, preflight])
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('while Postgres is unavailable: 503 with Retry-After, never 401', async () => {
    const away = await startTestServer()
    const key = (await startAdministration(away)).operatorKey
    await away.database.close()
    const answer = await away.operatorServer.inject({
      url: '/admin/operator-keys',
      headers: { authorization: `Bearer ${key}` }
    })
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '2'])
    await away.close().catch(() => {})
  })
})
