import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import {
  type AuditEventRecord,
  type AuditEventStore,
  createAuditEventStore
} from '../../../src/storage/postgres/audit-events.js'
import type { AuditNote } from '../../../src/storage/postgres/audited.js'
import { createOperatorKeyStore } from '../../../src/storage/postgres/operator-keys.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
afterAll(() => stores.close())

describe('audit events', () => {
  const NOW = new Date('2026-11-21T08:00:00.123Z')
  let statements: number
  let events: AuditEventStore

  beforeAll(async () => {
    const counted: typeof stores.database.query = (statement) => {
      statements += 1
      return stores.database.query(statement)
    }
    events = createAuditEventStore(atTime({ ...stores.database, query: counted }, NOW))
  })
  beforeEach(async () => {
    statements = 0
    await stores.run('truncate audit_events')
  })

  const bare: AuditEventRecord = {
    occurredAt: NOW,
    recordedAt: performance.now(),
    event: 'code_redeemed',
    requestId: undefined,
    traceId: undefined,
    clientId: undefined,
    userId: undefined,
    address: undefined,
    details: {}
  }

  const rows = () => stores.run('select * from audit_events order by event_id')

  test('an event is stored with all fields', async () => {
    const [userId, details] = [randomUUID(), { grantId: 'g', scope: ['a', 'b'], reason: 'with "quotes", commas and ü' }]
    const full = { ...bare, requestId: 'r', traceId: 't', clientId: 'c', userId, address: '2001:db8::1', details }
    await events.append([full])
    expect(await rows()).toEqual([
      {
        event_id: expect.any(String),
        occurred_at: bare.occurredAt,
        event: 'code_redeemed',
        request_id: 'r',
        trace_id: 't',
        client_id: 'c',
        user_id: userId,
        address: '2001:db8::1',
        details
      }
    ])
  })

  test('undefined fields are stored as null', async () => {
    await events.append([bare])
    const nothing = { request_id: null, trace_id: null, client_id: null, user_id: null, address: null, details: {} }
    expect(await rows()).toEqual([expect.objectContaining(nothing)])
  })

  test('a thousand events are one statement and keep their order', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...bare, requestId: `request-${index}` }))
    await events.append(many)
    expect(statements).toBe(1)
    expect((await rows()).map(({ request_id }) => request_id)).toEqual(many.map(({ requestId }) => requestId))
  })

  test.each(["'); drop table audit_events; --", '{a,b}', '"', '\\', 'NULL', '$1', ''])(
    '%j is text and nothing else',
    async (text) => {
      await events.append([{ ...bare, clientId: text, address: text, requestId: text, details: { reason: text } }])
      const stored = { client_id: text, address: text, request_id: text, details: { reason: text } }
      expect(await rows()).toEqual([expect.objectContaining(stored)])
    }
  )

  test('an empty list writes no row', async () => {
    await events.append([])
    expect(await rows()).toEqual([])
  })

  test('appendMissing: adds missing events and leaves existing ones unchanged', async () => {
    const [there, other] = [
      { ...bare, requestId: 'one' },
      { ...bare, requestId: 'two' }
    ]
    await events.append([there])
    await events.appendMissing([there, { ...there, event: 'token_refreshed' }, other])
    expect((await rows()).map(({ request_id, event }) => [request_id, event])).toEqual([
      ['one', 'code_redeemed'],
      ['one', 'token_refreshed'],
      ['two', 'code_redeemed']
    ])
  })

  const DAY = 86_400_000
  test.each([
    { clock: '400 days ahead', occurred: 400 * DAY, waitedMs: 100, stored: 0 },
    { clock: '400 days behind', occurred: -400 * DAY, waitedMs: 100, stored: -30_100 },
    { clock: '20 s behind', occurred: -20_000, waitedMs: 100, stored: -20_000 },
    { clock: 'right, after an outage of an hour', occurred: -3_600_000, waitedMs: 3_600_000, stored: -3_600_000 }
  ])(
    'a process clock $clock: the stored time is within 30 s of the arrival',
    async ({ occurred, waitedMs, stored }) => {
      await events.append([
        { ...bare, occurredAt: new Date(NOW.getTime() + occurred), recordedAt: performance.now() - waitedMs }
      ])
      const [row] = (await rows()) as { occurred_at: Date }[]
      expect(Math.abs((row?.occurred_at.getTime() ?? 0) - NOW.getTime() - stored)).toBeLessThan(1_000)
    }
  )
})

describe('audited changes', () => {
  const NOW = new Date('2026-11-21T08:00:00Z')
  beforeEach(() => stores.run('truncate audit_events, operator_keys'))

  const note: AuditNote = {
    event: 'operator_key_created',
    requestId: 'a request',
    traceId: 'a trace',
    clientId: 'a client',
    userId: randomUUID(),
    address: '2001:db8::1',
    details: { actor: { kind: 'command_line', name: 'olivia' } }
  }

  const create = (change: Partial<AuditNote> = {}, name = 'ci') =>
    createOperatorKeyStore(atTime(stores.database, NOW)).create(
      { operatorKeyId: randomUUID(), name, createdBy: undefined },
      hashToken(randomUUID()),
      { ...note, ...change }
    )

  const count = async (table: string) => (await stores.run(`select 1 as one from ${table}`)).length

  test('a change and its audit entry are written together, with all fields of the note', async () => {
    expect(await create()).toMatchObject({ name: 'ci', createdAt: NOW })
    expect(await stores.run('select * from audit_events')).toEqual([
      {
        event_id: expect.any(String),
        occurred_at: NOW,
        event: note.event,
        request_id: note.requestId,
        trace_id: note.traceId,
        client_id: note.clientId,
        user_id: note.userId,
        address: note.address,
        details: note.details
      }
    ])
  })

  test('if the entry cannot be written, the change is rolled back', async () => {
    await expect(create({ userId: 'no uuid' })).rejects.toThrow(/uuid/)
    expect([await count('operator_keys'), await count('audit_events')]).toEqual([0, 0])
  })

  test('a refused change writes no entry', async () => {
    await create()
    expect(await create()).toBe('name_taken')
    expect([await count('operator_keys'), await count('audit_events')]).toEqual([1, 1])
  })

  test('a change without effect writes no entry', async () => {
    expect(await createOperatorKeyStore(stores.database).revoke(randomUUID(), note)).toBeUndefined()
    expect(await count('audit_events')).toBe(0)
  })
})
