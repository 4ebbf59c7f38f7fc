import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { collectAuditLog, idOf } from '../../support/audit-log.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

const { logger, eventsOf } = collectAuditLog()

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
})
afterAll(() => server.close())

const keys = async () => (await admin.call('GET', '/operator-keys')).json().operator_keys

test('POST creates a valid key and returns it once; GET lists it with its last use, without its value', async () => {
  const answer = await admin.call('POST', '/operator-keys', { name: 'backup' })
  expect(answer.statusCode).toBe(201)
  const made = answer.json()
  expect(made).toEqual({ operator_key_id: expect.any(String), operator_key: expect.stringMatching(/^vk_ok_\w{49}$/) })
  const before = (await keys()).at(-1)
  expect(before).toEqual({
    operator_key_id: made.operator_key_id,
    name: 'backup',
    created_at: expect.any(String),
    created_by: admin.actor.operatorKeyId
  })
  const headers = { authorization: `Bearer ${made.operator_key}` }
  const listed = await server.operatorServer.inject({ url: '/admin/operator-keys', headers })
  expect(listed.body).not.toContain('vk_ok_')
  expect((await keys()).at(-1).last_used_at).toMatch(/^\d{4}-/)
})

test('POST is audited in table and log with the key of the request, without key values', async () => {
  const answer = await admin.call('POST', '/operator-keys', { name: 'deploy' })
  const { operator_key_id: operatorKeyId, operator_key: value } = answer.json()
  const details = { operatorKeyId, name: 'deploy', actor: admin.actor }
  const entry = await lastChangeIn(server)
  expect(entry).toEqual({
    event: 'operator_key_created',
    request_id: idOf(answer),
    client_id: null,
    user_id: null,
    address: '127.0.0.1',
    details
  })
  expect(eventsOf(answer)).toEqual([{ event: 'operator_key_created', address: '127.0.0.1', ...details }])
  expect(JSON.stringify(await changesIn(server))).not.toContain(value.slice(6, 20))
})

test('DELETE revokes the key immediately and permanently, is audited once, and is repeatable', async () => {
  const { operator_key_id: id, operator_key: value } = (
    await admin.call('POST', '/operator-keys', { name: 'short-lived' })
  ).json()
  const answer = await admin.call('DELETE', `/operator-keys/${id}`)
  expect([answer.statusCode, answer.json().revoked_at]).toEqual([200, expect.stringMatching(/^\d{4}-/)])
  const headers = { authorization: `Bearer ${value}` }
  expect((await server.operatorServer.inject({ url: '/admin/operator-keys', headers })).statusCode).toBe(401)
  const entries = await changesIn(server)
  expect(entries.at(-1)).toMatchObject({
    event: 'operator_key_revoked',
    details: { operatorKeyId: id, name: 'short-lived', actor: admin.actor }
  })
  const again = await admin.call('DELETE', `/operator-keys/${id}`)
  expect([again.statusCode, again.json()]).toEqual([200, answer.json()])
  expect(await changesIn(server)).toHaveLength(entries.length)
})

test('DELETE revokes all keys created with the key, with their number in response, table and log', async () => {
  const stolen = (await admin.call('POST', '/operator-keys', { name: 'stolen' })).json()
  const by = (key: string) => ({ authorization: `Bearer ${key}` })
  const made = (await admin.call('POST', '/operator-keys', { name: 'left behind' }, by(stolen.operator_key))).json()
  const answer = await admin.call('DELETE', `/operator-keys/${stolen.operator_key_id}`)
  expect(answer.json()).toMatchObject({ operator_key_id: stolen.operator_key_id, also_revoked: 1 })
  expect((await admin.call('GET', '/operator-keys', undefined, by(made.operator_key))).statusCode).toBe(401)
  expect(await lastChangeIn(server)).toMatchObject({ event: 'operator_key_revoked', details: { alsoRevoked: 1 } })
  expect(eventsOf(answer)).toMatchObject([{ event: 'operator_key_revoked', alsoRevoked: 1 }])
})

test('two concurrent POSTs with one name: one is created, one is 409; the name of a revoked key is free', async () => {
  const make = () => admin.call('POST', '/operator-keys', { name: 'twin' })
  const answers = await Promise.all([make(), make(), make()])
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409, 409])
  expect((await changesIn(server)).filter(({ details }) => details.name === 'twin')).toHaveLength(1)
  const [won] = answers.filter(({ statusCode }) => statusCode === 201)
  await admin.call('DELETE', `/operator-keys/${won?.json().operator_key_id}`)
  expect((await make()).statusCode).toBe(201)
})

test.each([randomUUID(), 'no-id', "x' or '1'='1"])('DELETE of the unknown %j is 404', async (id) => {
  expect((await admin.call('DELETE', `/operator-keys/${encodeURIComponent(id)}`)).statusCode).toBe(404)
})
