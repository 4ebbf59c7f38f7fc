import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import pg from 'pg'
import { followAudit } from '../../../src/operator/cli/follow-audit.js'
import {
  type AuditEntryStore,
  type AuditFilter,
  createAuditEntryStore
} from '../../../src/storage/postgres/audit-entries.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { runCommand } from '../../support/command-line.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
beforeEach(() => stores.run('truncate audit_events'))
afterAll(() => stores.close())

describe('audit tail (contract 5)', () => {
  const START = Date.parse('2026-11-21T08:00:00Z')
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const ALICE = '0197a000-0000-7000-8000-000000000001'

  beforeAll(async () => {
    const user = { userId: ALICE, username: 'alice', passwordHash: 'none', createdAt: new Date(START) }
    await createUserStore(stores.database).create(user, NOTE)
  })

  type Row = {
    event?: string
    minute?: number
    request?: string
    trace?: string
    client?: string
    user?: string
    details?: object
  }

  async function insert({ event = 'code_issued', minute = 0, request, trace, client, user, details = {} }: Row = {}) {
    const occurredAt = new Date(START + minute * 60_000)
    await stores.run(
      `insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details, trace_id)
     values ($1, $2, $3, $4, $5, '192.0.2.1', $6, $7)`,
      [occurredAt, event, request, client, user, JSON.stringify(details), trace]
    )
  }

  const tail = (...args: string[]) => runCommand(stores.database, ['audit', 'tail', ...args])
  const events = async (...args: string[]) => JSON.parse((await tail('--json', ...args)).out).events
  const names = async (...args: string[]) => (await events(...args)).map(({ event }: { event: string }) => event)

  test('--json prints one document with the newest 20 events, oldest first', async () => {
    for (let minute = 0; minute < 25; minute += 1)
      await insert({ event: `event_${'abcdefghijklmnopqrstuvwxy'[minute]}`, minute })
    const { code, out, said } = await tail('--json')
    expect([code, said]).toEqual([0, ''])
    const found = JSON.parse(out).events
    expect([found.length, found[0].event, found.at(-1).event]).toEqual([20, 'event_f', 'event_y'])
    expect(await names('--limit', '2')).toEqual(['event_x', 'event_y'])
  })

  test('--json prints every member of an event and omits absent ones', async () => {
    await insert({ request: 'r-1', trace: TRACE, client: 'c', user: ALICE, details: { grantId: 'g', scope: ['a'] } })
    await stores.run(`insert into audit_events (occurred_at, event, details) values ($1, 'bare', '{}')`, [
      new Date(START)
    ])
    expect(await events()).toEqual([
      {
        event_id: expect.stringMatching(/^\d+$/),
        occurred_at: '2026-11-21T08:00:00.000Z',
        event: 'code_issued',
        request_id: 'r-1',
        trace_id: TRACE,
        client_id: 'c',
        user_id: ALICE,
        address: '192.0.2.1',
        details: { grantId: 'g', scope: ['a'] }
      },
      { event_id: expect.any(String), occurred_at: expect.any(String), event: 'bare', details: {} }
    ])
  })

  test('without --json: one line per event with its actor, and no control sequences', async () => {
    const details = { actor: { kind: 'command_line', name: 'olivia' }, username: 'a b\u001b[31m' }
    await insert({ event: 'user_disabled', user: ALICE, trace: TRACE, details })
    expect((await tail()).out).toBe(
      `2026-11-21T08:00:00.000Z user_disabled actor=command_line:olivia userId=${ALICE} ` +
        'username="a b\\u001b[31m" address=192.0.2.1 ' +
        `traceId=${TRACE}\n`
    )
  })

  test('filters by user id or name, client, event, request, trace and time, combined with AND', async () => {
    await insert({ event: 'one', user: ALICE, client: 'c', minute: 1 })
    await insert({ event: 'two', user: ALICE, minute: 2, request: 'r-2' })
    await insert({ event: 'three', client: 'c', minute: 3, trace: TRACE })
    expect(await names('--user', 'alice')).toEqual(['one', 'two'])
    expect(await names('--user', ALICE, '--client', 'c')).toEqual(['one'])
    expect(await names('--client', 'c')).toEqual(['one', 'three'])
    expect(await names('--event', 'two')).toEqual(['two'])
    expect(await names('--request-id', 'r-2')).toEqual(['two'])
    expect(await names('--trace-id', TRACE)).toEqual(['three'])
    expect(await names('--trace-id', 'f'.repeat(32))).toEqual([])
    expect(await names('--since', '2026-11-21T08:02:00Z')).toEqual(['two', 'three'])
    expect(await names('--since', '2026-11-21T09:03:00+01:00', '--client', 'c')).toEqual(['three'])
  })

  test('--changes: only events with an actor; --subject: only those of one record', async () => {
    const actor = { kind: 'command_line', name: 'olivia' }
    await insert({ event: 'token_refreshed', client: 'c', user: ALICE, details: { scope: ['reports.read'] } })
    await insert({ event: 'client_updated', minute: 1, client: 'c', details: { actor } })
    await insert({ event: 'user_disabled', minute: 2, user: ALICE, details: { actor, username: 'alice' } })
    await insert({ event: 'scope_deleted', minute: 3, details: { actor, scope: 'reports.read' } })
    const api = { actor, name: 'reports', audience: 'https://reports.example' }
    await insert({ event: 'resource_server_updated', minute: 4, client: 'r', details: api })
    await insert({ event: 'operator_key_revoked', minute: 5, details: { actor, operatorKeyId: 'k-1', name: 'deploy' } })
    expect(await names('--changes')).toEqual([
      'client_updated',
      'user_disabled',
      'scope_deleted',
      'resource_server_updated',
      'operator_key_revoked'
    ])
    expect(await names('--changes', '--since', '2026-11-21T08:04:00Z')).toHaveLength(2)
    expect(await names('--changes', '--user', 'alice')).toEqual(['user_disabled'])
    for (const [subject, event] of [
      ['c', 'client_updated'],
      ['alice', 'user_disabled'],
      [ALICE, 'user_disabled'],
      ['reports.read', 'scope_deleted'],
      ['reports', 'resource_server_updated'],
      ['https://reports.example', 'resource_server_updated'],
      ['k-1', 'operator_key_revoked'],
      ['deploy', 'operator_key_revoked']
    ] as const) {
      expect(await names('--subject', subject)).toEqual([event])
    }
    expect(await names('--subject', 'unknown')).toEqual([])
  })

  test('--since with a duration prints up to 1,000 events and reports if there are more', async () => {
    await insert({ event: 'old', minute: -60 * 24 * 40 })
    await stores.run(
      `insert into audit_events (occurred_at, event, details) select now(), 'new', '{}' from generate_series(1, 1001)`
    )
    const { out, said } = await tail('--since', '15m', '--json')
    expect([JSON.parse(out).events.length, said]).toEqual([1_000, 'There are more than 1000 events: raise --limit.\n'])
    expect(new Set(await names('--since', '2d', '--limit', '2000'))).toEqual(new Set(['new']))
  })

  test('a deleted user is found by id', async () => {
    const gone = '0197a000-0000-7000-8000-00000000dead'
    await insert({ event: 'user_deleted', user: gone })
    expect(await names('--user', gone)).toEqual(['user_deleted'])
    expect((await tail('--user', 'gone')).code).toBe(3)
  })

  test.each([
    ['--since', 'yesterday'],
    ['--since', '2026-13-01'],
    ['--since', '2026-11-21T08:00:00'],
    ['--limit', '0'],
    ['--limit', 'x'],
    ['--limit', '100000'],
    ['--client', 'no/id'],
    ['--event', "x' or true"],
    ['--request-id', 'two words'],
    ['--trace-id', 'F'.repeat(32)],
    ['--trace-id', 'f'.repeat(31)],
    ['--subject', '']
  ])('%s %s is wrong usage (2)', async (...args) => {
    const { code, out } = await tail(...args)
    expect([code, out]).toEqual([2, ''])
  })

  test('no events: an empty list, or no line', async () => {
    expect([await events(), (await tail()).out]).toEqual([[], ''])
  })
})

describe('audit tail --follow', () => {
  const INSERT = `insert into audit_events (occurred_at, event, details) select now(), $1, '{}' from generate_series(1, $2)`
  const insert = (event: string, count = 1) => stores.run(INSERT, [event, count])

  /** Runs one step between two polls, a second apart, and returns the shown events. */
  async function follow(
    happenings: readonly (() => Promise<unknown>)[],
    {
      filter = {},
      entries = createAuditEntryStore(stores.database),
      showFirst = async () => []
    }: {
      filter?: AuditFilter
      entries?: Pick<AuditEntryStore, 'listFrom' | 'newestId'>
      showFirst?: () => Promise<readonly string[]>
    } = {}
  ) {
    const [shown, said]: [string[], string[]] = [[], []]
    let second = 0
    await followAudit(filter, showFirst, {
      auditEntries: entries,
      show: ({ event }) => shown.push(event),
      say: (text) => said.push(text),
      async wait() {
        const happening = happenings[second]
        second += 1
        await happening?.()
        return happening !== undefined
      },
      monotonicNow: () => second * 1_000
    })
    return { shown, said }
  }

  const nothing = async () => {}

  test('shows each new event once, in order, and no earlier event', async () => {
    await insert('before', 3)
    const { shown } = await follow([() => insert('one'), nothing, () => insert('two', 2), nothing])
    expect(shown).toEqual(['one', 'two', 'two'])
  })

  test('shows an event that is written between the first query and the first output', async () => {
    const entries = createAuditEntryStore(stores.database)
    await insert('there')
    const showFirst = async () => {
      await insert('in between')
      const ids = (await entries.list({}, { limit: 10 })).map(({ eventId }) => eventId)
      await insert('after')
      return ids
    }
    expect((await follow([nothing, nothing], { showFirst })).shown).toEqual(['after'])
  })

  test('shows only events that match the filter', async () => {
    const happenings = [() => insert('one'), () => insert('two'), () => insert('one')]
    expect((await follow(happenings, { filter: { event: 'one' } })).shown).toEqual(['one', 'one'])
  })

  test('shows more events than one query returns', async () => {
    expect((await follow([() => insert('many', 2_500), nothing])).shown).toHaveLength(2_500)
  })

  test('shows an event with a lower id that is committed later', async () => {
    const late = new pg.Client({ connectionString: stores.url })
    await late.connect()
    await late.query('begin')
    await late.query(INSERT, ['late', 1])
    await insert('early', 5)
    const { shown } = await follow([() => insert('new'), nothing, nothing, () => late.query('commit'), nothing])
    await late.end()
    expect(shown).toEqual(['new', 'late'])
  })

  test('shows no event twice, however long it runs', async () => {
    const happenings = Array.from({ length: 30 }, (_, second) => () => insert(`at ${second}`))
    expect((await follow(happenings)).shown).toEqual(Array.from({ length: 30 }, (_, second) => `at ${second}`))
  })

  test('queries the last ten seconds only, however many events there are', async () => {
    const real = createAuditEntryStore(stores.database)
    const asked: bigint[] = []
    const entries: typeof real = {
      ...real,
      listFrom(filter, page) {
        asked.push(BigInt(page.after))
        return real.listFrom(filter, page)
      }
    }
    const newest: bigint[] = []
    const happenings = Array.from({ length: 20 }, () => async () => {
      await insert('one')
      newest.push(BigInt(await real.newestId()))
    })
    await follow(happenings, { entries })
    // Each poll comes after the step of its second; the first poll is at the start.
    expect(asked.at(-1)).toBe(newest.at(-12))
  })

  test('while Postgres is unavailable it waits, reports it once, and misses no event', async () => {
    const real = createAuditEntryStore(stores.database)
    let looks = 0
    const entries = {
      ...real,
      newestId: () => {
        looks += 1
        return looks === 3 || looks === 4
          ? Promise.reject(new StoreUnavailable('postgres', undefined))
          : real.newestId()
      }
    }
    const { shown, said } = await follow([() => insert('a'), () => insert('b'), () => insert('c'), nothing], {
      entries
    })
    expect([shown, said]).toEqual([['a', 'b', 'c'], [expect.stringMatching(/^postgres is unavailable; .*\n$/)]])
  })
})
