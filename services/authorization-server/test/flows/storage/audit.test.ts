import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import {
  type ClientRefusalStore,
  createClientRefusalStore,
  deleteExpiredRefusals,
  MOST_REFUSALS,
  type NewClientRefusal
} from '../../../src/features/refused-requests/client-refusal-store.js'
import {
  type AuditEventRecord,
  type AuditEventStore,
  createAuditEventStore
} from '../../../src/storage/postgres/audit-events.js'
import type { AuditNote } from '../../../src/storage/postgres/audited.js'
import { createClientChangeStore } from '../../../src/storage/postgres/client-changes.js'
import { createOperatorKeyStore } from '../../../src/storage/postgres/operator-keys.js'
import { NOTE } from '../../support/audit-note.js'
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

describe('refusals of clients in Postgres', () => {
  let refusals: ClientRefusalStore

  beforeAll(async () => {
    refusals = createClientRefusalStore(stores.database)
  })
  beforeEach(async () => {
    await stores.run('truncate clients cascade')
    await createClient('printer')
  })

  async function createClient(clientId: string): Promise<void> {
    await createClientChangeStore(stores.database).create(
      {
        clientId,
        name: clientId,
        type: 'public',
        redirectUris: ['https://app.example/'],
        requiredScopes: [],
        optionalScopes: [],
        requiresPkce: true,
        issuesRefreshTokens: true,
        consent: 'ask',
        disabled: false,
        verified: false,
        branding: {}
      },
      undefined,
      NOTE
    )
  }

  function refusal(change: Partial<NewClientRefusal> = {}): NewClientRefusal {
    return {
      clientId: 'printer',
      endpoint: 'token',
      error: 'invalid_grant',
      reason: 'code_used',
      description: 'authorization code was already used',
      requestId: 'r',
      redirectUri: undefined,
      authenticated: true,
      recordedAt: performance.now(),
      ...change
    }
  }

  const many = (count: number, change: (index: number) => Partial<NewClientRefusal>) =>
    Array.from({ length: count }, (_, index) => refusal(change(index)))

  const count = async () => (await stores.run('select 1 from client_refusals')).length

  test('are listed newest first, with all fields and the time of Postgres', async () => {
    const bare = refusal({ requestId: '1', description: undefined, recordedAt: performance.now() - 3_600_000 })
    const full = refusal({ requestId: '2', redirectUri: 'https://a.example/<b>"\'', authenticated: false })
    await refusals.append([full, bare])
    const [first, second, ...rest] = await refusals.list('printer', 10)
    const { recordedAt: _full, ...shownFull } = full
    const { recordedAt: _bare, ...shownBare } = bare
    expect(first).toEqual({ ...shownFull, occurredAt: expect.any(Date) })
    expect(second).toEqual({ ...shownBare, occurredAt: expect.any(Date) })
    expect(rest).toEqual([])
    const apart = Number(first?.occurredAt) - Number(second?.occurredAt)
    expect(Math.abs(apart - 3_600_000)).toBeLessThan(10_000)
    expect(await refusals.list('printer', 1)).toEqual([first])
  })

  test('are ignored for a client that does not exist', async () => {
    await refusals.append([refusal({ clientId: 'invented' }), refusal()])
    expect(await refusals.list('invented', 10)).toEqual([])
    expect(await refusals.list('printer', 10)).toHaveLength(1)
  })

  test('are deleted with the client', async () => {
    await refusals.append([refusal()])
    await stores.run("delete from clients where client_id = 'printer'")
    expect(await count()).toBe(0)
  })

  test('one repeated reason keeps its newest 10 and pushes out no others', async () => {
    await refusals.append([refusal({ reason: 'wrong_redirect_uri', requestId: 'old' })])
    await refusals.append(many(200, (index) => ({ requestId: `${index}`, recordedAt: index })))
    const listed = await refusals.list('printer', 1_000)
    expect(listed.map(({ requestId }) => requestId)).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `${199 - index}`),
      'old'
    ])
  })

  test('unauthenticated requests push out no authenticated ones, and a client has at most 100 rows', async () => {
    const reasonOf = (index: number) => ({ reason: `reason_${index % 40}` })
    await refusals.append(many(80, (index) => ({ ...reasonOf(index), requestId: `a${index}` })))
    await refusals.append(many(500, (index) => ({ ...reasonOf(index), authenticated: false })))
    const listed = await refusals.list('printer', 1_000)
    expect(listed.filter(({ authenticated }) => authenticated)).toHaveLength(50)
    expect(listed).toHaveLength(MOST_REFUSALS)
    expect(listed.at(-1)?.requestId).toMatch(/^a/)
  })

  test('the rows of another client stay', async () => {
    await createClient('other')
    await refusals.append([refusal({ clientId: 'other' })])
    await refusals.append(many(200, () => ({})))
    expect(await refusals.list('other', 10)).toHaveLength(1)
  })

  test('two processes that append at the same time keep at most the limit', async () => {
    await createClient('other')
    const half = () => many(100, (index) => ({ clientId: index % 2 ? 'printer' : 'other', reason: `r${index % 30}` }))
    await Promise.all(Array.from({ length: 6 }, () => refusals.append(half())))
    await refusals.append([refusal(), refusal({ clientId: 'other' })])
    expect((await refusals.list('printer', 1_000)).length).toBeLessThanOrEqual(50)
    expect(await count()).toBeLessThanOrEqual(100)
  })

  test('a client that is deleted at the same time loses only its own rows', async () => {
    await createClient('other')
    await Promise.all([
      stores.run("delete from clients where client_id = 'printer'"),
      ...Array.from({ length: 8 }, () => refusals.append([refusal(), refusal({ clientId: 'other' })]))
    ])
    expect(await refusals.list('other', 10)).toHaveLength(8)
    expect(await count()).toBe(8)
  })

  test('after 7 days they are not listed, and housekeeping deletes them', async () => {
    await refusals.append([refusal({ requestId: 'old' }), refusal({ requestId: 'new' })])
    await stores.run("update client_refusals set occurred_at = now() - interval '7 days' where request_id = 'old'")
    expect((await refusals.list('printer', 10)).map(({ requestId }) => requestId)).toEqual(['new'])
    expect(await deleteExpiredRefusals(stores.database)).toBe(false)
    expect(await count()).toBe(1)
  })

  test.each([
    { name: 'another endpoint', column: 'endpoint', value: 'introspect' },
    { name: 'a long redirect URI', column: 'redirect_uri', value: 'x'.repeat(501) },
    { name: 'a long description', column: 'description', value: 'x'.repeat(301) },
    { name: 'an unknown client', column: 'client_id', value: 'invented' }
  ])('Postgres refuses $name', async ({ column, value }) => {
    await refusals.append([refusal()])
    await expect(stores.run(`update client_refusals set ${column} = $1`, [value])).rejects.toThrow(/violates/)
  })
})
