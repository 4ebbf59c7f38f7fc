import { describe, expect, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { type AuditCandidate, eventsIn, openAuditMinute } from '../../../src/platform/audit/audit-budget.js'
import type { AuditEventKind } from '../../../src/platform/audit/audit-event.js'

const ALICE = '0197a000-0000-7000-8000-000000000001'

type Change = Partial<AuditCandidate> & { reason?: string }

function refusal({ reason = 'unknown_client', ...change }: Change = {}): AuditCandidate {
  const unnamed = { clientId: undefined, userId: undefined }
  const row = {
    occurredAt: new Date('2026-11-21T08:00:00Z'),
    requestId: 'r',
    traceId: undefined,
    address: '192.0.2.1',
    recordedAt: 0,
    ...unnamed
  }
  return { ...row, event: 'request_refused', details: { reason }, ...change }
}

/** Number of events that get their own row. */
function singles(minute: ReturnType<typeof openAuditMinute>, count: number, make: (index: number) => AuditCandidate) {
  return Array.from({ length: count }, (_, index) => minute.allowsRow(make(index), undefined)).filter(Boolean).length
}

const addressOf = (index: number) => `10.0.${index >> 8}.${index & 255}`
const named = { clientId: 'a', reason: 'wrong_secret' }

describe('rows of a minute, by the party that caused the event', () => {
  test.each<{ name: string; make: (index: number) => AuditCandidate; rows: number }>([
    { name: 'an anonymous address', make: () => refusal(), rows: 5 },
    { name: 'many anonymous addresses', make: (index) => refusal({ address: addressOf(index) }), rows: 50 },
    { name: 'an address that names a registered client', make: () => refusal(named), rows: 60 },
    {
      name: 'many addresses that name one registered client',
      make: (index) => refusal({ ...named, address: addressOf(index) }),
      rows: 500
    },
    {
      name: 'three addresses that name one registered client',
      make: (index) => refusal({ ...named, address: addressOf(index % 3) }),
      rows: 165
    },
    {
      name: 'a user who has one code issued after the other',
      make: () => refusal({ event: 'code_issued', clientId: 'a', userId: ALICE }),
      rows: 300
    },
    {
      name: 'many addresses that name many registered clients',
      make: (index) => refusal({ ...named, clientId: `c${index}`, address: addressOf(index) }),
      rows: 500
    },
    {
      name: 'an address that tries passwords of one user',
      make: () => refusal({ event: 'sign_in_failed', userId: ALICE, reason: 'wrong_password' }),
      rows: 60
    },
    {
      name: 'many addresses whose request a rate limit refused',
      make: (index) =>
        refusal({ event: 'sign_in_failed', reason: 'too_many_attempts', address: addressOf(index), clientId: 'a' }),
      rows: 0
    },
    {
      name: 'a user with a session',
      make: () => refusal({ event: 'authorization_refused', userId: ALICE, clientId: 'made-up' }),
      rows: 300
    },
    {
      name: 'a code that is used again and again',
      make: () => refusal({ event: 'code_reused', clientId: 'a' }),
      rows: 300
    },
    { name: 'decisions', make: () => refusal({ event: 'code_redeemed', clientId: 'a' }), rows: 5_000 }
  ])('$name: $rows', ({ make, rows }) => {
    const minute = openAuditMinute()
    expect(singles(minute, 5_000, make)).toBe(rows)
    expect(eventsIn(minute.countRows())).toBe(5_000 - rows)
  })

  test('the first refusals of an address keep their rows while other addresses name the same client', () => {
    const minute = openAuditMinute()
    for (let index = 0; index < 300; index += 1) {
      minute.allowsRow(refusal({ ...named, address: addressOf(index % 3) }), undefined)
    }
    expect(singles(minute, 10, () => refusal({ ...named, address: '192.0.2.1' }))).toBe(5)
  })

  test('10,000 addresses that name one client: what a minute stores is bounded by its rows', () => {
    const minute = openAuditMinute()
    const stored = jest.spyOn(Map.prototype, 'set')
    for (let index = 0; index < 10_000; index += 1) {
      minute.allowsRow(refusal({ ...named, address: addressOf(index) }), undefined)
    }
    const { length } = stored.mock.calls
    stored.mockRestore()
    // A row is counted under five names.
    expect(length).toBeLessThan(500 * 5 + 100)
  })

  test.each(['unknown_client', 'request_too_long'])('an invented client id counts as anonymous: %s', (reason) => {
    expect(singles(openAuditMinute(), 100, (index) => refusal({ clientId: `c${index}`, reason }))).toBe(5)
  })

  test('each event name of a client has its own limit', () => {
    const minute = openAuditMinute()
    for (let index = 0; index < 400; index += 1) minute.allowsRow(refusal({ clientId: 'a', reason: 'x' }), 'secret')
    expect(minute.allowsRow(refusal({ event: 'code_reused', clientId: 'a' }), 'secret')).toBe(true)
  })

  test.each<{ name: string; kind: AuditEventKind; rows: number }>([
    { name: 'a decision', kind: 'decision', rows: 1_000 },
    { name: 'a repetition', kind: 'repetition', rows: 300 },
    { name: 'a refusal', kind: { refusal: [] }, rows: 60 }
  ])('the declaration of an event decides its rows: $name has $rows', ({ kind, rows }) => {
    const minute = openAuditMinute({ form_refused: kind })
    expect(singles(minute, 1_000, () => refusal({ ...named, event: 'form_refused' }))).toBe(rows)
  })

  test('the next minute has rows again', () => {
    expect(singles(openAuditMinute(), 10, () => refusal())).toBe(5)
    expect(singles(openAuditMinute(), 10, () => refusal())).toBe(5)
  })
})

describe('rows with a count', () => {
  test('one for each event, reason, party and address group, with the id of the first request', () => {
    const minute = openAuditMinute()
    for (let index = 0; index < 80; index += 1)
      minute.allowsRow(refusal({ ...named, requestId: `r${index}` }), undefined)
    expect(minute.countRows()).toEqual([
      refusal({ clientId: 'a', requestId: 'r60', details: { reason: 'wrong_secret', count: 20 } })
    ])
  })

  test('a row for invented clients names none', () => {
    const minute = openAuditMinute()
    for (let index = 0; index < 30; index += 1) minute.allowsRow(refusal({ clientId: `c${index}` }), undefined)
    expect(minute.countRows()).toEqual([refusal({ details: { reason: 'unknown_client', count: 25 } })])
  })

  test('events beyond all limits are one row per event name, without an address', () => {
    const minute = openAuditMinute()
    singles(minute, 1_000, (index) => refusal({ address: addressOf(index), requestId: `r${index}` }))
    expect(minute.countRows().at(-1)).toEqual(
      refusal({ address: undefined, requestId: 'r80', details: { count: 920 } })
    )
  })
})

test('every event is counted, and anonymous requests cause at most 645 rows', () => {
  const anyRefusal = fc.record({
    event: fc.constantFrom(
      'request_refused' as const,
      'authorization_refused' as const,
      'form_refused' as const,
      'operator_refused' as const,
      'sign_in_failed' as const
    ),
    reason: fc.constantFrom('unknown_client', 'wrong_secret', 'too_many_attempts', 'malformed', 'request_too_long'),
    clientId: fc.option(fc.integer({ max: 300, min: 0 }).map(String), { nil: undefined }),
    address: fc.option(fc.ipV4(), { nil: undefined })
  })
  fc.assert(
    fc.property(fc.array(anyRefusal, { minLength: 1_000, maxLength: 2_000, size: 'max' }), (refusals) => {
      const minute = openAuditMinute()
      const own = singles(minute, refusals.length, (index) => refusal(refusals[index]))
      const counts = minute.countRows()
      expect(own + eventsIn(counts)).toBe(refusals.length)
      expect(own + counts.length).toBeLessThanOrEqual(645)
    }),
    { numRuns: 20 }
  )
})
