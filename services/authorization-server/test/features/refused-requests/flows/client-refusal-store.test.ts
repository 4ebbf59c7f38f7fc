import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database, Statement } from '@valetkey/service-kit'
import {
  type ClientRefusalStore,
  createClientRefusalStore,
  deleteExpiredRefusals,
  MOST_REFUSALS,
  type NewClientRefusal
} from '../../../../src/features/refused-requests/client-refusal-store.js'
import { createClientChangeStore } from '../../../../src/storage/postgres/client-changes.js'
import { NOTE } from '../../../support/audit-note.js'
import { connectWithoutLimits } from '../../../support/connect-without-limits.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
afterAll(() => stores.close())

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

test('the deletion of expired refusals uses an index', async () => {
  const sent: Statement[] = []
  const database: Database = {
    ...stores.database,
    query(statement) {
      sent.push(statement)
      return stores.database.query(statement)
    }
  }
  await deleteExpiredRefusals(database)
  const session = connectWithoutLimits(stores.url, { connections: 1, plans: 'kept by index' })
  try {
    const rows = await session.query({ name: '', text: `explain (generic_plan) ${sent[0]?.text}`, values: [] })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('using client_refusals_occurred_at')
    expect(plan).not.toMatch(/Seq Scan on|Hash Join|Merge Join/)
  } finally {
    await session.close()
  }
})
