import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { runCommand } from '../../support/command-line.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
beforeEach(() => stores.run('truncate audit_events'))
afterAll(() => stores.close())

describe('requests show', () => {
  const OF_RESOURCE_SERVER =
    '{"level":"info","time":"2026-11-21T08:00:00.001Z","service":"resource-server","event":"access_token_refused","reqId":"r-1","reason":"not_active"}'
  const OF_AUTHORIZATION_SERVER =
    '{"level":"info","time":"2026-11-21T08:00:00.000Z","service":"authorization-server","event":"request","reqId":"r-0","otherReqIds":["r-1"],"route":"/introspections","status":200}'
  const ITS_EVENT =
    '{"level":"info","time":"2026-11-21T08:00:00.002Z","service":"authorization-server","event":"request_refused","reqId":"r-1","reason":"wrong_secret"}'

  const insert = (event: string, request: string) =>
    stores.run(
      `insert into audit_events (occurred_at, event, request_id, details) values ($1, $2, $3, '{"reason":"wrong_secret"}')`,
      [new Date('2026-11-21T08:00:00.003Z'), event, request]
    )
  const show = (args: readonly string[], log = '') =>
    runCommand(stores.database, ['requests', 'show', ...args], { stdin: log })

  test('prints the audit events of the request', async () => {
    await insert('request_refused', 'r-1')
    await insert('request_refused', 'r-2')
    const { code, out } = await show(['r-1'])
    expect([code, out]).toEqual([0, '2026-11-21T08:00:00.003Z request_refused reason=wrong_secret requestId=r-1\n'])
  })

  test('--logs-stdin: the lines of both services in their order, whatever is written before them', async () => {
    const lines = [
      `resource-server-1       | ${OF_RESOURCE_SERVER}`,
      'not a log line that names r-1 {',
      '{"event":"no_time","reqId":"r-1"}',
      OF_RESOURCE_SERVER.replaceAll('r-1', 'r-12'),
      OF_AUTHORIZATION_SERVER
    ]
    await insert('request_refused', 'r-1')
    const { code, out } = await show(['r-1', '--logs-stdin'], lines.join('\n'))
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      '2026-11-21T08:00:00.000Z authorization-server request route=/introspections status=200',
      '2026-11-21T08:00:00.001Z resource-server access_token_refused reason=not_active',
      '2026-11-21T08:00:00.003Z request_refused reason=wrong_secret requestId=r-1',
      ''
    ])
  })

  test('an event that was logged is printed once', async () => {
    await insert('request_refused', 'r-1')
    const { out } = await show(['r-1', '--logs-stdin'], ITS_EVENT)
    expect(out).toBe('2026-11-21T08:00:00.002Z authorization-server request_refused reason=wrong_secret\n')
  })

  test('--json prints the events and the lines', async () => {
    await insert('request_refused', 'r-1')
    const { out } = await show(['r-1', '--logs-stdin', '--json'], OF_RESOURCE_SERVER)
    expect(JSON.parse(out)).toEqual({
      request_id: 'r-1',
      events: [expect.objectContaining({ event: 'request_refused', details: { reason: 'wrong_secret' } })],
      log_lines: [JSON.parse(OF_RESOURCE_SERVER)]
    })
  })

  test.each([
    [['r-9'], 3, 'pass --logs-stdin'],
    [['r-9', '--logs-stdin'], 3, 'no line in the log lines'],
    [['two words'], 2, 'request id']
  ])('%j: exit code %i and a reason', async (args, exitCode, problem) => {
    const { code, out, said } = await show(args, OF_RESOURCE_SERVER)
    expect([code, out, said]).toEqual([exitCode, '', expect.stringContaining(problem)])
  })
})
