import { describe, expect, test } from '@jest/globals'
import type { NewClientRefusal } from '../../../src/features/refused-requests/client-refusal-store.js'
import { createClientRefusals, type RefusedRequest } from '../../../src/features/refused-requests/client-refusals.js'

const REQUEST = { id: 'a-request', ip: '192.0.2.1' }
const REFUSED: RefusedRequest = {
  clientId: 'printer',
  standing: 'known',
  endpoint: 'authorize',
  error: 'invalid_request',
  description: undefined,
  reason: 'redirect_uri_mismatch'
}

const addressOf = (index: number) => `10.0.${index >> 8}.${index & 255}`

/** @param append what the store does */
function setUp(append: () => Promise<void> = async () => {}) {
  const batches: (readonly NewClientRefusal[])[] = []
  let at = 0
  const store = {
    async append(batch: readonly NewClientRefusal[]) {
      batches.push(batch)
      await append()
    }
  }
  const refusals = createClientRefusals(store, () => at)
  return {
    refusals,
    batches,
    rows: () => batches.flat(),
    passMinute() {
      at += 60_000
    }
  }
}

function signal() {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}

describe('refusals of clients on their way to the table', () => {
  test('are one batch, with the shown reason and text', async () => {
    const { refusals, batches } = setUp()
    const redirectUri = 'https://a.example/?code=secret'
    refusals.note(REQUEST, { ...REFUSED, redirectUri })
    refusals.note(REQUEST, {
      ...REFUSED,
      standing: 'authenticated',
      endpoint: 'token',
      error: 'invalid_grant',
      description: `\u0000${'x'.repeat(400)}`,
      reason: 'wrong_client'
    })
    expect(batches).toEqual([])
    await refusals.close()
    const common = { clientId: 'printer', requestId: 'a-request', recordedAt: expect.any(Number) }
    expect(batches).toEqual([
      [
        {
          ...common,
          endpoint: 'authorize',
          error: 'invalid_request',
          description: undefined,
          reason: 'redirect_uri_mismatch',
          redirectUri: 'https://a.example/?code=…',
          authenticated: false
        },
        {
          ...common,
          endpoint: 'token',
          error: 'invalid_grant',
          description: 'x'.repeat(300),
          reason: 'code_unknown',
          redirectUri: undefined,
          authenticated: true
        }
      ]
    ])
  })

  test('nothing is written without refusals', async () => {
    const { refusals, batches } = setUp()
    await refusals.close()
    expect(batches).toEqual([])
  })

  test.each<{ name: string; make: (index: number) => [typeof REQUEST, RefusedRequest]; rows: number }>([
    { name: 'an address', make: () => [REQUEST, REFUSED], rows: 10 },
    { name: 'many addresses', make: (index) => [{ ...REQUEST, ip: addressOf(index) }, REFUSED], rows: 20 },
    {
      name: 'many addresses for many clients',
      make: (index) => [
        { ...REQUEST, ip: addressOf(index) },
        { ...REFUSED, clientId: `c${index}` }
      ],
      rows: 300
    },
    {
      name: 'many addresses with invented client ids',
      make: (index) => [
        { ...REQUEST, ip: addressOf(index) },
        { ...REFUSED, clientId: `c${index}`, standing: 'unverified' }
      ],
      rows: 60
    },
    { name: 'an authenticated client', make: () => [REQUEST, { ...REFUSED, standing: 'authenticated' }], rows: 30 },
    {
      name: 'many authenticated clients',
      make: (index) => [REQUEST, { ...REFUSED, clientId: `c${index}`, standing: 'authenticated' }],
      rows: 600
    }
  ])('of 1,000 refusals of one minute from $name, $rows get a row', async ({ make, rows: most }) => {
    const { refusals, rows, passMinute } = setUp()
    for (let index = 0; index < 1_000; index++) refusals.note(...make(index))
    await refusals.close()
    expect(rows()).toHaveLength(most)
    expect(refusals.dropped()).toEqual({ limit: 1_000 - most, store: 0 })
    passMinute()
    refusals.note(...make(0))
    await refusals.close()
    expect(rows()).toHaveLength(most + 1)
  })

  test('anonymous requests and invented client ids take no rows from authenticated clients', async () => {
    const { refusals, rows } = setUp()
    for (let index = 0; index < 2_000; index++) {
      const request = { ...REQUEST, ip: addressOf(index) }
      refusals.note(request, REFUSED)
      refusals.note(request, { ...REFUSED, clientId: `invented-${index}`, standing: 'unverified' })
    }
    for (let index = 0; index < 30; index++) refusals.note(REQUEST, { ...REFUSED, standing: 'authenticated' })
    refusals.note(REQUEST, { ...REFUSED, clientId: 'other' })
    await refusals.close()
    expect(rows().filter(({ authenticated }) => authenticated)).toHaveLength(30)
    expect(rows().filter(({ clientId }) => clientId === 'other')).toHaveLength(1)
  })

  test('an unavailable store loses its batch and no other, without an error', async () => {
    let fails = true
    const { refusals, batches } = setUp(async () => {
      if (fails) throw new Error('away')
    })
    refusals.note(REQUEST, REFUSED)
    await refusals.close()
    fails = false
    refusals.note(REQUEST, REFUSED)
    await refusals.close()
    expect(batches.map((batch) => batch.length)).toEqual([1, 1])
    expect(refusals.dropped()).toEqual({ limit: 0, store: 1 })
  })

  test('while the store stalls, at most 1,000 wait in memory', async () => {
    const [reached, stalled] = [signal(), signal()]
    const { refusals, batches, passMinute } = setUp(() => {
      reached.give()
      return stalled.given
    })
    refusals.note(REQUEST, REFUSED)
    const first = refusals.close()
    await reached.given
    for (let minute = 0; minute < 3; minute++) {
      passMinute()
      for (let index = 0; index < 600; index++)
        refusals.note(REQUEST, { ...REFUSED, clientId: `c${index}`, standing: 'authenticated' })
    }
    stalled.give()
    await first
    await refusals.close()
    expect(batches.map((batch) => batch.length)).toEqual([1, 1_000])
    expect(refusals.dropped()).toEqual({ limit: 0, store: 800 })
  })
})
