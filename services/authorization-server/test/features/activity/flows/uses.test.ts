import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Credentials } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { basic } from '../../../support/flow.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { newGrant, newReportId, nowInSeconds, sendBody, sendReport, storedUses, useOf } from '../support/reports.js'

const OTHER_API = 'https://photos.example'

const world = serverWithUser()
let api: Credentials
let otherApi: Credentials
let client: Credentials
let grantId: string

beforeAll(async () => {
  api = await world.server.createResourceServer()
  otherApi = await world.server.createResourceServer(OTHER_API)
  const id = otherApi.clientId
  await runCommand(world.server.database, ['resource-servers', 'actions', id, '--action', 'list_photos=Listed photos'])
  client = await world.server.createClient()
})
beforeEach(async () => {
  await world.server.redis.flushdb()
  grantId = await newGrant(world.server, { username: world.username, client, api })
})

const report = (uses: readonly unknown[], reportId?: string, caller = api) =>
  sendReport(world.server, caller, uses, reportId)
const stored = () => storedUses(world.server, world.userId)
const today = () => new Date().toISOString().slice(0, 10)

describe('POST /uses', () => {
  test('adds the sums of reports to those of the day', async () => {
    const answer = await report([useOf(grantId, { count: 200 })])
    expect([answer.statusCode, answer.json()]).toEqual([200, { counted: 1, repeated: false, ignored: [] }])
    expect(answer.headers['cache-control']).toBe('no-store')
    await report([useOf(grantId, { count: 14 }), useOf(grantId, { count: 0 })])
    expect(await stored()).toEqual([{ action: 'list_files', day: today(), items: 214 }])
  })

  test('counts 500 uses in one report', async () => {
    const answer = await report(Array.from({ length: 500 }, () => useOf(grantId, { count: 2 })))
    expect(answer.json()).toMatchObject({ counted: 500, ignored: [] })
    expect(await stored()).toMatchObject([{ items: 1_000 }])
  })

  test('counts nothing for a report without uses', async () => {
    expect((await report([])).json()).toEqual({ counted: 0, repeated: false, ignored: [] })
  })

  test('counts uses of a grant that has ended, until it is deleted', async () => {
    await runCommand(world.server.database, ['grants', 'revoke', grantId, '--yes'])
    expect((await report([useOf(grantId)])).json()).toMatchObject({ counted: 1 })
    await world.server.database.query({
      name: 'test_delete_grant',
      text: 'delete from grants where grant_id = $1',
      values: [grantId]
    })
    expect((await report([useOf(grantId)])).json().ignored).toEqual([{ row: 0, reason: 'unknown_grant' }])
    expect(await stored()).toMatchObject([{ items: 1 }])
  })

  test('counts a time up to a minute ahead as now', async () => {
    expect((await report([useOf(grantId, { last_at: nowInSeconds() + 50 })])).json().counted).toBe(1)
    const text = 'select last_at <= now() as is_past from app_uses where user_id = $1'
    const rows = await world.server.database.query({ name: 'test_is_past', text, values: [world.userId] })
    expect(rows).toEqual([{ is_past: true }])
  })
})

describe('a report that is sent again', () => {
  test('counts once, also in parallel', async () => {
    const reportId = newReportId()
    const uses = [useOf(grantId, { count: 7 })]
    const answers = await Promise.all(Array.from({ length: 8 }, () => report(uses, reportId)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200))
    expect(answers.filter((answer) => answer.json().counted === 1)).toHaveLength(1)
    expect(answers.filter((answer) => answer.json().repeated)).toHaveLength(7)
    expect(await stored()).toMatchObject([{ items: 7 }])
  })

  test('does not count if its content differs', async () => {
    const reportId = newReportId()
    await report([useOf(grantId)], reportId)
    expect((await report([useOf(grantId, { count: 99 })], reportId)).json()).toMatchObject({
      counted: 0,
      repeated: true
    })
    expect(await stored()).toMatchObject([{ items: 1 }])
  })

  test('counts for a second credential, which another API cannot prevent', async () => {
    const reportId = newReportId()
    await report([], reportId, otherApi)
    expect((await report([useOf(grantId)], reportId)).json()).toMatchObject({ counted: 1, repeated: false })
  })
})

describe('uses that cannot be counted', () => {
  test('are named with their reason, and the others count', async () => {
    const photos = await newGrantOfOtherApi()
    const answer = await report([
      useOf(photos),
      useOf(grantId, { action: 'list_photos' }),
      useOf('00000000-0000-4000-8000-000000000000'),
      useOf(grantId, { count: 3 }),
      useOf(grantId, { last_at: nowInSeconds() + 600 }),
      useOf(grantId, { last_at: nowInSeconds() - 3_700 }),
      useOf(grantId, { action: 'constructor' })
    ])
    expect(answer.json()).toEqual({
      counted: 1,
      repeated: false,
      ignored: [
        { row: 0, reason: 'unknown_grant' },
        { row: 1, reason: 'unknown_action' },
        { row: 2, reason: 'unknown_grant' },
        { row: 4, reason: 'wrong_time' },
        { row: 5, reason: 'wrong_time' },
        { row: 6, reason: 'unknown_action' }
      ]
    })
    expect(await stored()).toMatchObject([{ action: 'list_files', items: 3 }])
  })

  test('an API cannot use the built-in actions of the default API', async () => {
    const photos = await newGrantOfOtherApi()
    const answer = await report([useOf(photos), useOf(photos, { action: 'list_photos' })], undefined, otherApi)
    expect(answer.json()).toEqual({ counted: 1, repeated: false, ignored: [{ row: 0, reason: 'unknown_action' }] })
  })

  async function newGrantOfOtherApi(): Promise<string> {
    const scope = `photos-${Math.random()}`
    await world.server.createScope(scope, { audience: OTHER_API })
    const other = await world.server.createClient({ requiredScopes: [scope] })
    const parties = { username: world.username, client: other, api: otherApi }
    return newGrant(world.server, parties, { scope, resource: OTHER_API })
  }
})

describe('a report that cannot be read', () => {
  const body = (change: object = {}) => JSON.stringify({ report_id: newReportId(), uses: [useOf(grantId)], ...change })

  test.each([
    {
      name: 'a wrong member',
      payload: () => body({ uses: [useOf(grantId), useOf(grantId, { count: -1 })] }),
      status: 400
    },
    { name: '501 uses', payload: () => body({ uses: Array(501).fill(useOf(grantId)) }), status: 400 },
    { name: 'broken JSON', payload: () => '{"report_id":', status: 400 },
    { name: 'a poisoned prototype', payload: () => '{"__proto__":{"uses":[]}}', status: 400 },
    { name: 'no body', payload: () => '', status: 400 },
    { name: 'a body over 128 KiB', payload: () => body({ more: 'x'.repeat(128 * 1024) }), status: 413 }
  ])('with $name is $status, and nothing counts', async ({ payload, status }) => {
    const answer = await sendBody(world.server, payload(), basic(api))
    expect([answer.statusCode, answer.json().error]).toEqual([status, 'invalid_request'])
    expect(await stored()).toEqual([])
  })

  test.each(['application/x-www-form-urlencoded', 'text/plain'])('as %s is invalid_request', async (type) => {
    const answer = await sendBody(world.server, body(), { ...basic(api), 'content-type': type })
    expect([answer.statusCode, answer.json().error_description]).toEqual([400, 'The body must be application/json.'])
  })

  test.each([
    { name: 'no credentials', headers: () => ({}) },
    { name: 'a wrong secret', headers: () => basic({ ...api, clientSecret: 'wrong' }) },
    { name: 'the credentials of a client', headers: () => basic(client) }
  ])('with $name is invalid_client, before the body is read', async ({ headers }) => {
    const answer = await sendBody(world.server, '{'.repeat(200_000), headers())
    expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
  })

  test('is a POST: GET is 405', async () => {
    const answer = await world.server.internalServer.inject({ url: '/uses', headers: basic(api) })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
  })

  test('is not read on the public listener', async () => {
    const answer = await world.server.publicServer.inject({ method: 'POST', url: '/uses', headers: basic(api) })
    expect(answer.statusCode).toBe(404)
  })
})
