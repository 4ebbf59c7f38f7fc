import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'

let server: TestServer
let admin: Administration
let audience: string
let clientId: string

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
beforeEach(async () => {
  audience = `https://api-${Math.random()}.example`
  clientId = (await server.createResourceServer(audience)).clientId
})
afterAll(() => server.close())

const run = (...args: string[]) => runCommand(server.database, ['resource-servers', ...args])
const isMarked = async (id = clientId) => JSON.parse((await run('auth-time', id, '--json')).out).auth_time

describe('resource-servers auth-time', () => {
  test('shows the state, sets it, and writes an audit entry', async () => {
    expect((await run('auth-time', clientId)).out).toBe(`auth_time is off for ${audience}\n`)
    const { out } = await run('auth-time', clientId, 'on', '--json')
    expect(JSON.parse(out)).toEqual({ client_id: clientId, audience, auth_time: true })
    expect(await isMarked()).toBe(true)
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_updated',
      client_id: clientId,
      details: { audience, changes: { authTime: { from: false, to: true } } }
    })
    await run('auth-time', clientId, 'off')
    expect(await isMarked()).toBe(false)
  })

  test('repeated changes nothing, and writes one audit entry', async () => {
    const before = (await changesIn(server)).length
    await Promise.all([run('auth-time', clientId, 'on'), run('auth-time', clientId, 'on')])
    await run('auth-time', clientId, 'on')
    expect([await isMarked(), (await changesIn(server)).length - before]).toEqual([true, 1])
  })

  test('holds for all credentials of the API, also after the first is deleted, until the last is', async () => {
    await run('auth-time', clientId, 'on')
    const rotated = JSON.parse((await run('rotate-secret', clientId, '--json')).out).client_id
    expect(await isMarked(rotated)).toBe(true)
    await run('delete', clientId, '--yes')
    expect(await isMarked(rotated)).toBe(true)
    await run('delete', rotated, '--yes')
    const again = (await server.createResourceServer(audience)).clientId
    expect(await isMarked(again)).toBe(false)
  })

  test.each([
    { name: 'an unknown credential', args: ['rs_unknown', 'on'], said: 'there is no resource server rs_unknown' },
    { name: 'an unknown state', args: ['rs_unknown', 'yes'], said: 'Allowed choices are on, off' }
  ])('refuses $name', async ({ args, said }) => {
    const result = await run('auth-time', ...args)
    expect(result.code).not.toBe(0)
    expect(result.said).toContain(said)
  })
})

describe('/admin/resource-servers/{client_id}/auth-time', () => {
  const path = (id: string) => `/resource-servers/${id}/auth-time`

  test('GET and PUT do what the command does', async () => {
    expect((await admin.call('GET', path(clientId))).json()).toEqual({
      client_id: clientId,
      audience,
      auth_time: false
    })
    const answer = await admin.call('PUT', path(clientId), { auth_time: true })
    expect([answer.statusCode, answer.json()]).toEqual([200, { client_id: clientId, audience, auth_time: true }])
    expect(await isMarked()).toBe(true)
    expect(await lastChangeIn(server)).toMatchObject({ details: { actor: admin.actor } })
  })

  test.each([{}, { auth_time: 'yes' }, { auth_time: 1 }, { auth_time: true, other: 1 }])(
    'PUT refuses the body %j and changes nothing',
    async (body) => {
      expect((await admin.call('PUT', path(clientId), body)).statusCode).toBe(400)
      expect(await isMarked()).toBe(false)
    }
  )

  test('an unknown credential is 404', async () => {
    expect((await admin.call('GET', path('rs_unknown'))).statusCode).toBe(404)
    expect((await admin.call('PUT', path('rs_unknown'), { auth_time: true })).statusCode).toBe(404)
  })
})
