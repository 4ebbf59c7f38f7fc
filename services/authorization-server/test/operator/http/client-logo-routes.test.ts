import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { NOTE } from '../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

let server: TestServer
let admin: Administration
let path: string
let clientId: string
const files: Record<string, Buffer> = {}

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
  const image = (background: string) => sharp({ create: { width: 40, height: 10, channels: 3, background } })
  files.png = await image('red').png().toBuffer()
  files.jpeg = await image('blue').jpeg().toBuffer()
  files.webp = await image('green').webp().toBuffer()
})
beforeEach(async () => {
  clientId = (await server.createClient({ verified: true })).clientId
  path = `/clients/${clientId}/logo`
})
afterAll(() => server.close())

const put = (body: Buffer | undefined, type: string, to = path) => admin.call('PUT', to, body, { 'content-type': type })

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

  test('an unknown client is 404; a discovered one is 409', async () => {
    expect((await put(files.png, 'image/png', '/clients/unknown/logo')).statusCode).toBe(404)
    expect((await admin.call('DELETE', '/clients/unknown/logo')).statusCode).toBe(404)
    const url = 'https://boat.example/client.json'
    const registered = (await server.deps.admin.clients.clients.find(clientId)) as ClientRegistration
    await server.deps.consent.decide.discovered.create({ ...registered, clientId: url }, NOTE)
    expect((await put(files.png, 'image/png', `/clients/${encodeURIComponent(url)}/logo`)).statusCode).toBe(409)
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
    const removed = await admin.call('PATCH', `/clients/${clientId}`, { terms: '', verified: true, publisher: 'Other' })
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
