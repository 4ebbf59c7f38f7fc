import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { collectAuditLog, idOf } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { exchange, PASSWORD } from '../../support/flow.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('clients', () => {
  const TO_CREATE = { name: 'Photo Printer', redirect_uris: ['https://app.example/callback'], scope: 'files.read' }
  let resourceServer: Credentials

  beforeAll(async () => {
    await server.createUser('alice', PASSWORD)
    resourceServer = await server.createResourceServer()
  })

  async function create(change: object = {}) {
    const answer = await admin.call('POST', '/clients', { ...TO_CREATE, ...change })
    expect(answer.statusCode).toBe(201)
    return answer.json()
  }
  const works = async ({ client_id: clientId, client_secret: clientSecret }: Record<string, string>) =>
    (await exchange(server, { clientId: clientId ?? '', clientSecret: clientSecret ?? '' }, 'x')).statusCode === 400

  describe('/admin/clients', () => {
    test('POST registers a working client; GET returns the document of the command line, without the secret', async () => {
      const { client_secret, secret_id, ...client } = await create({ access_token_ttl: 600 })
      expect(client).toMatchObject({ type: 'confidential', refresh: true, consent: 'ask', access_token_ttl: 600 })
      expect(await works({ ...client, client_secret })).toBe(true)
      const found = await admin.call('GET', `/clients/${client.client_id}`)
      const { out } = await runCommand(server.database, ['clients', 'show', client.client_id, '--json'])
      expect([found.statusCode, found.json()]).toEqual([200, client])
      expect(JSON.parse(out)).toEqual(client)
      expect(secret_id).toMatch(/^[0-9a-f]{12}$/)
    })

    test('a public client has no secret', async () => {
      expect(await create({ type: 'public' })).not.toHaveProperty('client_secret')
    })

    test('GET lists each client once, in pages', async () => {
      for (let count = 0; count < 5; count++) await create()
      const seen: string[] = []
      for (let after: string | undefined = ''; after !== undefined; ) {
        const answer = await admin.call('GET', `/clients?limit=2${after && `&after=${after}`}`)
        const { clients, next }: { clients: { client_id: string }[]; next?: string } = answer.json()
        expect(clients.length).toBeLessThanOrEqual(2)
        seen.push(...clients.map(({ client_id }) => client_id))
        after = next
      }
      const { out } = await runCommand(server.database, ['clients', 'list', '--json'])
      const all = JSON.parse(out).clients.map(({ client_id }: { client_id: string }) => client_id)
      expect(seen.toSorted()).toEqual(all.toSorted())
    })

    test('PATCH replaces the given members, null resets a lifetime, and the event has key and changes', async () => {
      const {
        client_id: id,
        client_secret: _secret,
        secret_id: _id,
        ...before
      } = await create({ access_token_ttl: 60 })
      const answer = await admin.call('PATCH', `/clients/${id}`, { name: 'Album', access_token_ttl: null })
      const { access_token_ttl: _ttl, ...rest } = before
      expect([answer.statusCode, answer.json()]).toEqual([200, { client_id: id, ...rest, name: 'Album' }])
      const changes = { name: { from: 'Photo Printer', to: 'Album' }, access_token_ttl: { from: 60 } }
      expect(await lastChangeIn(server)).toEqual({
        event: 'client_updated',
        request_id: idOf(answer),
        client_id: id,
        user_id: null,
        address: '127.0.0.1',
        details: { actor: admin.actor, changes }
      })
      expect(eventsOf(answer)).toEqual([expect.objectContaining({ event: 'client_updated', clientId: id, changes })])
    })

    test('disable ends all tokens, enable accepts the client again, DELETE deletes it; each is audited', async () => {
      const { client_id: clientId, client_secret: clientSecret } = await create()
      const tokens = await obtainTokens(server, { clientId, clientSecret })
      expect((await admin.call('POST', `/clients/${clientId}/disable`)).json().disabled).toBe(true)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect(await works({ client_id: clientId, client_secret: clientSecret })).toBe(false)
      expect((await admin.call('POST', `/clients/${clientId}/enable`)).json().disabled).toBe(false)
      expect(await works({ client_id: clientId, client_secret: clientSecret })).toBe(true)
      expect((await admin.call('DELETE', `/clients/${clientId}`)).json()).toMatchObject({ client_id: clientId })
      expect((await admin.call('GET', `/clients/${clientId}`)).statusCode).toBe(404)
      const events = (await changesIn(server)).filter((entry) => entry.client_id === clientId)
      expect(events.map(({ event }) => event)).toEqual([
        'client_created',
        'client_disabled',
        'client_enabled',
        'client_disabled',
        'client_deleted'
      ])
      expect(events.every(({ details }) => JSON.stringify(details.actor) === JSON.stringify(admin.actor))).toBe(true)
      expect(JSON.stringify(events)).not.toContain(clientSecret)
    })

    test.each([
      { name: 'an unknown member', body: { secret: 'x' }, status: 400, detail: 'secret' },
      { name: 'a member of another type', body: { refresh: 'yes' }, status: 400, detail: 'refresh' },
      { name: 'no redirect URI', body: { redirect_uris: [] }, status: 400, detail: 'redirect_uris' },
      {
        name: 'a bad redirect URI',
        body: { redirect_uris: ['http://app.example/'] },
        status: 422,
        detail: 'redirect URI'
      },
      { name: 'an unknown scope', body: { scope: 'nothing.at.all' }, status: 422, detail: 'nothing.at.all' },
      { name: 'an empty name', body: { name: ' ' }, status: 422, detail: 'name' },
      { name: 'a lifetime of 0', body: { access_token_ttl: 0 }, status: 400, detail: 'access_token_ttl' }
    ])(
      'POST and PATCH with $name: $status with the name of the member, and nothing changes',
      async ({ body, status, detail }) => {
        const { client_id: id } = await create()
        const before = (await admin.call('GET', `/clients/${id}`)).json()
        const answers = [
          await admin.call('POST', '/clients', { ...TO_CREATE, ...body }),
          await admin.call('PATCH', `/clients/${id}`, body)
        ]
        for (const answer of answers) {
          expect([answer.statusCode, answer.headers['content-type']]).toEqual([
            status,
            expect.stringMatching(/^application\/problem\+json/)
          ])
          expect(answer.json().detail).toContain(detail)
        }
        expect((await admin.call('GET', `/clients/${id}`)).json()).toEqual(before)
      }
    )

    test('PATCH without a member is 422, with a type 400', async () => {
      const { client_id: id } = await create()
      expect((await admin.call('PATCH', `/clients/${id}`, {})).statusCode).toBe(422)
      expect((await admin.call('PATCH', `/clients/${id}`, { type: 'public' })).statusCode).toBe(400)
    })

    test.each([
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/disable'],
      ['POST', '/enable'],
      ['GET', '/secrets'],
      ['POST', '/secrets'],
      ['DELETE', '/secrets/000000000000']
    ] as const)('%s /clients/…%s of an unknown client is 404', async (method, rest) => {
      const body = method === 'PATCH' ? { name: 'x' } : undefined
      for (const id of ['unknown', '%00', '%27%3B'])
        expect((await admin.call(method, `/clients/${id}${rest}`, body)).statusCode).toBe(404)
    })
  })

  describe('/admin/clients/{client_id}/secrets', () => {
    test('POST creates a second secret, GET lists both without values, DELETE ends the old one', async () => {
      const client = await create()
      const path = `/clients/${client.client_id}/secrets`
      const made = await admin.call('POST', path, { keep_old_for: 3600 })
      expect([made.statusCode, made.headers['cache-control']]).toEqual([201, 'no-store'])
      const fresh = made.json()
      expect(fresh).toMatchObject({ client_id: client.client_id, old: [{ secret_id: client.secret_id, live: true }] })
      expect([await works(client), await works(fresh)]).toEqual([true, true])
      const listed = await admin.call('GET', path)
      expect(
        listed
          .json()
          .secrets.map((secret: { secret_id: string }) => secret.secret_id)
          .toSorted()
      ).toEqual([client.secret_id, fresh.secret_id].toSorted())
      expect(listed.body).not.toContain('vk_cs_')
      expect((await admin.call('POST', path)).statusCode).toBe(409)
      expect((await admin.call('DELETE', `${path}/${client.secret_id}`)).json()).toMatchObject({ live: false })
      expect([await works(client), await works(fresh)]).toEqual([false, true])
      expect((await admin.call('DELETE', `${path}/${fresh.secret_id}`)).statusCode).toBe(409)
    })

    test('GET /client-secrets lists the valid secrets of all clients, in pages', async () => {
      await create()
      const { out } = await runCommand(server.database, ['clients', 'secrets', '--json'])
      const first = (await admin.call('GET', '/client-secrets?limit=1')).json()
      const rest = (
        await admin.call('GET', `/client-secrets?limit=1000&after=${encodeURIComponent(first.next)}`)
      ).json()
      expect([...first.secrets, ...rest.secrets]).toEqual(JSON.parse(out).secrets)
      expect([first.secrets.length, rest.next]).toEqual([1, undefined])
      expect((await admin.call('GET', '/client-secrets?after=x')).statusCode).toBe(422)
    })

    test('POST without a body keeps the old secret for seven days, with keep_old_for 0 not at all', async () => {
      const client = await create()
      const path = `/clients/${client.client_id}/secrets`
      const { old } = (await admin.call('POST', path)).json()
      expect(Date.parse(old[0].expires_at) - Date.now()).toBeGreaterThan(7 * 86_400_000 - 60_000)
      expect((await admin.call('POST', path, { keep_old_for: 0 })).statusCode).toBe(201)
      expect(await works(client)).toBe(false)
    })

    test.each([-1, 7_776_001, 1.5, '60', null])('keep_old_for of %j is 400', async (keepOldFor) => {
      const { client_id: id } = await create()
      expect((await admin.call('POST', `/clients/${id}/secrets`, { keep_old_for: keepOldFor })).statusCode).toBe(400)
    })
  })
})

describe('logos', () => {
  let path: string
  let clientId: string
  const files: Record<string, Buffer> = {}

  beforeAll(async () => {
    const image = (background: string) => sharp({ create: { width: 40, height: 10, channels: 3, background } })
    files.png = await image('red').png().toBuffer()
    files.jpeg = await image('blue').jpeg().toBuffer()
    files.webp = await image('green').webp().toBuffer()
  })
  beforeEach(async () => {
    clientId = (await server.createClient({ verified: true })).clientId
    path = `/clients/${clientId}/logo`
  })

  const put = (body: Buffer | undefined, type: string, to = path) =>
    admin.call('PUT', to, body, { 'content-type': type })

  describe('/admin/clients/{id}/logo', () => {
    test.each(['png', 'jpeg', 'webp'])('PUT of image/%s sets the logo, which is served', async (format) => {
      const answer = await put(files[format], `image/${format}`)
      const { logo, verified } = answer.json()
      expect([answer.statusCode, verified]).toEqual([200, true])
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'client_updated',
        client_id: clientId,
        details: { actor: admin.actor, changes: { logo: { to: logo } } }
      })
      expect((await admin.call('GET', `/clients/${clientId}`)).json().logo).toBe(logo)
      const { headers } = await server.publicServer.inject(`/logos/${logo}.png`)
      expect(headers['content-type']).toBe('image/png')
    })

    test('DELETE removes it, and is safe to repeat', async () => {
      await put(files.png, 'image/png')
      for (let count = 0; count < 2; count++) {
        const answer = await admin.call('DELETE', path)
        expect([answer.statusCode, answer.json().logo]).toEqual([200, undefined])
      }
    })

    test('two uploads at the same moment both succeed, and one is the logo', async () => {
      const answers = await Promise.all([put(files.png, 'image/png'), put(files.jpeg, 'image/jpeg')])
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200])
      const { logo } = (await admin.call('GET', `/clients/${clientId}`)).json()
      expect(answers.map((answer) => answer.json().logo)).toContain(logo)
    })

    test.each([
      { name: 'SVG', type: 'image/svg+xml', body: () => Buffer.from('<svg/>'), status: 415 },
      {
        name: 'JSON',
        type: 'application/json',
        body: () => Buffer.from('{"logo":"https://a.example/x.png"}'),
        status: 415
      },
      { name: 'HTML as PNG', type: 'image/png', body: () => Buffer.from('<!doctype html>'), status: 422 },
      {
        name: 'SVG as PNG',
        type: 'image/png',
        body: () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
        status: 422
      },
      { name: 'half of a file', type: 'image/png', body: () => files.png?.subarray(0, 60), status: 422 },
      { name: 'an empty body', type: 'image/png', body: () => Buffer.alloc(0), status: 422 },
      { name: 'over 1 MiB', type: 'image/png', body: () => Buffer.alloc(1024 * 1024 + 1), status: 413 }
    ])('PUT of $name is $status, and changes nothing', async ({ type, body, status }) => {
      const events = await changesIn(server)
      const answer = await put(body(), type)
      expect([answer.statusCode, answer.json().status]).toEqual([status, status])
      expect(await changesIn(server)).toEqual(events)
    })

    test('PUT without a body is 422', async () => {
      expect((await admin.call('PUT', path)).statusCode).toBe(422)
    })

    test('an unknown client is 404', async () => {
      expect((await put(files.png, 'image/png', '/clients/unknown/logo')).statusCode).toBe(404)
      expect((await admin.call('DELETE', '/clients/unknown/logo')).statusCode).toBe(404)
    })

    test('requires an operator key before it reads the body', async () => {
      const answer = await server.operatorServer.inject({
        method: 'PUT',
        url: `/admin${path}`,
        payload: Buffer.alloc(2 ** 21)
      })
      expect(answer.statusCode).toBe(401)
    })
  })

  describe('the texts', () => {
    test('PATCH sets them, and an empty one removes it; a new publisher ends the verification', async () => {
      const texts = { publisher: 'Example GmbH', home_page: 'https://a.example/', terms: 'https://a.example/t' }
      const set = await admin.call('PATCH', `/clients/${clientId}`, texts)
      expect(set.json()).toMatchObject({ ...texts, verified: false })
      const removed = await admin.call('PATCH', `/clients/${clientId}`, {
        terms: '',
        verified: true,
        publisher: 'Other'
      })
      expect(removed.json()).toMatchObject({ publisher: 'Other', verified: true })
      expect(removed.json()).not.toHaveProperty('terms')
    })

    test.each([
      { body: { home_page: 'javascript:alert(1)' }, status: 422 },
      { body: { publisher: 'a\u0000b' }, status: 422 },
      { body: { logo: 'https://evil.example/logo.png' }, status: 400 }
    ])('PATCH with $body is $status', async ({ body, status }) => {
      expect((await admin.call('PATCH', `/clients/${clientId}`, body)).statusCode).toBe(status)
    })
  })
})
