import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
  for (const name of ['one', 'two', 'three', 'four']) await admin.call('POST', '/operator-keys', { name })
})
afterAll(() => server.close())

const read = async (query = '') => (await admin.call('GET', `/audit${query}`)).json()

test('pages list each event once, newest first, with the documents of the command line', async () => {
  const { out } = await runCommand(server.database, ['audit', 'tail', '--json'])
  const seen: object[] = []
  let after = ''
  for (let page = 0; page < 3; page += 1) {
    const { events, next } = await read(`?limit=2${after}`)
    seen.push(...events)
    after = `&after=${next}`
  }
  expect([seen.toReversed(), after]).toEqual([JSON.parse(out).events, '&after=undefined'])
})

test('an event has actor, request id and address', async () => {
  const answer = await admin.call('POST', '/users', { username: 'alice', password: 'a password of words' })
  const { user_id } = answer.json()
  const { events } = await read(
    `?user_id=${user_id}&event=user_created&since=1h&request_id=${answer.headers['x-request-id']}`
  )
  expect(events).toEqual([
    {
      event_id: expect.any(String),
      occurred_at: expect.stringMatching(/Z$/),
      event: 'user_created',
      request_id: answer.headers['x-request-id'],
      user_id,
      address: '127.0.0.1',
      details: { username: 'alice', actor: admin.actor }
    }
  ])
})

test('events of a trace are found by its id', async () => {
  const [trace, other] = ['4bf92f3577b34da6a3ce929d0e0e4736', 'f'.repeat(32)]
  await server.database.query({
    name: 'test_insert_traced_event',
    text: `insert into audit_events (occurred_at, event, trace_id, details) values (now(), 'code_issued', $1, '{}')`,
    values: [trace]
  })
  expect((await read(`?trace_id=${trace}`)).events).toMatchObject([{ event: 'code_issued', trace_id: trace }])
  expect(await read(`?trace_id=${other}`)).toEqual({ events: [] })
})

test('after a deleted event, the page is empty', async () => {
  expect(await read('?after=999999999')).toEqual({ events: [] })
})

test.each([
  'since=yesterday',
  'after=x',
  'after=99999999999999999999',
  'user_id=alice',
  'client_id=a%2Fb',
  'event=%00',
  'trace_id=1'
])('%s is 422', async (query) => {
  expect((await admin.call('GET', `/audit?${query}`)).statusCode).toBe(422)
})

test.each(['unknown=1', 'limit=1001', 'after=%00'])('%s is 400', async (query) => {
  expect((await admin.call('GET', `/audit?${query}`)).statusCode).toBe(400)
})
