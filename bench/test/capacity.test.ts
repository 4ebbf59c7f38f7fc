import { describe, expect, test } from '@jest/globals'

type Rates = Record<string, number>
type Table = { rows: number; heap: number; indexes: Rates }
type Tables = { grants: Table; refresh_tokens: Table; access_tokens: Table; audit_events: Table }
type Cores = { authorizationServer: number; resourceServer: number; postgres: number; redis: number }
type Predicted = {
  rates: Rates
  cores: Cores
  tables: Tables
  wal: { bytes: number }
  feed: Rates
  connections: { all: number; direct: number }
  redisBytes: number
  auditRowsPerDay: number
  hitRatio: number
}
type Point = { rates: Rates; value: number }
type Growth = { name: string; limit: number; values: number[]; breaksAt: number | undefined }

const load = async (name: string) => import(new URL(`../capacity/${name}`, import.meta.url).href)
const { predict, loadOf } = (await load('model.mjs')) as {
  predict(options: Rates, coefficients: object): Predicted
  loadOf(load: object, coefficients: object): Pick<Predicted, 'cores' | 'feed' | 'wal'>
}
const { hitRatio } = (await load('input.mjs')) as { hitRatio(use: Rates): number }
const { bytesOfTables, pageImages } = (await load('rows.mjs')) as {
  bytesOfTables(rows: Rates, coefficients: object): Tables
  pageImages(rates: Rates, tables: Tables, seconds: number): number
}
const { designOf, fitLine, medianPoints } = (await load('fit.mjs')) as {
  designOf(levels: Record<string, [number, number]>): Rates[]
  fitLine(points: Point[], names: string[]): Rates & { base: number }
  medianPoints(rounds: Point[][]): Point[]
}
const { growth } = (await load('limits.mjs')) as {
  growth(options: Rates, factors: number[], coefficients: object): Growth[]
}
const { DEFAULTS } = (await load('input.mjs')) as { DEFAULTS: Rates }

const OPERATIONS = ['authorization', 'refresh', 'introspection', 'apiMiss', 'apiHit', 'revocation', 'signIn']
const all = (value: number) => Object.fromEntries(OPERATIONS.map((name) => [name, value]))
const PARTS = ['authorizationServer', 'resourceServer', 'postgres', 'redis']
const cost = (value: number) => Object.fromEntries(PARTS.map((part) => [part, value]))
const row = { heap: 100, indexes: { one: 50 } }
const indexes = (...names: string[]) => ({ heap: 100, indexes: Object.fromEntries(names.map((name) => [name, 50])) })
/** Each request costs a millisecond of each kind of process, and writes 1,000 bytes. */
const COEFFICIENTS = {
  cores: { base: cost(0.01), ...Object.fromEntries(OPERATIONS.map((name) => [name, cost(0.001)])) },
  wal: { records: all(1_000), image: 8_000 },
  auditRows: { authorization: 2, refresh: 1, revocation: 1, signIn: 1 },
  rowBytes: {
    users: row,
    grants: indexes('grants_pkey', 'grants_code_hash_key', 'grants_user_id'),
    refresh_tokens: indexes('refresh_tokens_pkey'),
    access_tokens: indexes('pkey'),
    audit_events: indexes('audit_events_request_id')
  },
  redis: { code: 600, spentCode: 700, session: 400, sessionList: 200, commands: all(2) },
  notification: { committed: 0.00003, delivered: 0.00001, received: 0.00002, commitsPerSecond: 1_000 },
  hotRows: { consentsPerSecond: 500 },
  memory: { authorizationServer: 171e6, resourceServer: 138e6 }
}

describe('the capacity model', () => {
  test('calculates rates, rows and connections of a known case', () => {
    const known = { users: 86_400, 'sign-ins': 1, authorizations: 2, 'refreshes-per-second': 3, 'calls-per-second': 10 }
    const own = {
      revocations: 0,
      peak: 2,
      'refresh-days': 10,
      'grant-days': 5,
      'audit-days': 100,
      'token-seconds': 3_600
    }
    const processes = { 'authorization-servers': 3, 'resource-servers': 4, 'cache-seconds': 0 }
    const { rates, tables, connections, feed, auditRowsPerDay } = predict(
      { ...known, ...own, ...processes },
      COEFFICIENTS
    )
    expect(rates).toMatchObject({ signIn: 2, authorization: 4, refresh: 6, apiMiss: 20, apiHit: 0 })
    expect(tables.grants.rows).toBe(2 * 5 * 86_400)
    expect(tables.refresh_tokens.rows).toBe((2 + 3) * 10 * 86_400)
    expect(tables.access_tokens.rows).toBe(5 * (3_600 + 1_800 + 600))
    expect(auditRowsPerDay).toBe((2 * 2 + 3 + 1) * 86_400)
    expect(tables.audit_events.rows).toBe(8 * 100 * 86_400)
    // Ten connections of each process, and LISTEN of each authorization server.
    expect(connections).toEqual({ all: 3 * 11 + 4 * 10, direct: 3 })
    // Without a cache there are only the pulses, four a second of each authorization server, which all receive.
    expect(feed).toEqual({ notifications: 12, deliveries: 36, events: 0 })
  })

  test('adds the cost of each request to that of each process', () => {
    const rates = { ...all(0), authorization: 100, apiHit: 50 }
    const processes = { authorizationServers: 1, resourceServers: 2, subscribers: 1 }
    const tables = bytesOfTables(rowsOf(0), COEFFICIENTS)
    const { cores } = loadOf({ rates, processes, tables, checkpointSeconds: 300 }, COEFFICIENTS)
    expect(cores.authorizationServer).toBeCloseTo(0.15 + 0.01)
    expect(cores.resourceServer).toBeCloseTo(0.15 + 0.02)
    expect(cores.postgres).toBeCloseTo(0.15 + 0.01)
  })

  test.each(['users', 'refreshes-per-second', 'calls-per-second', 'sign-ins', 'authorizations', 'peak'])(
    'needs no less of anything with a larger %s',
    (name) => {
      const sizes = [1, 10, 100].map((factor) =>
        predict({ ...DEFAULTS, [name]: (DEFAULTS[name] ?? 0) * factor }, COEFFICIENTS)
      )
      for (const read of [
        ({ cores }: Predicted) => cores.authorizationServer,
        ({ cores }: Predicted) => cores.postgres,
        ({ wal }: Predicted) => wal.bytes,
        ({ connections }: Predicted) => connections.all,
        ({ redisBytes }: Predicted) => redisBytes
      ]) {
        const values = sizes.map(read).map(Number)
        expect(values).toEqual(values.toSorted((a, b) => a - b))
      }
    }
  )
})

describe('the hit ratio of the cache', () => {
  test('is that of a simulation with calls at random times', () => {
    const use = { calls: 40, tokens: 50, processes: 4, cacheSeconds: 60 }
    expect(hitRatio(use)).toBeCloseTo(simulatedHitRatio(use), 1)
  })

  test('is 0 without a cache, and at most the share of tokens that it holds', () => {
    expect(hitRatio({ calls: 40, tokens: 50, processes: 4, cacheSeconds: 0 })).toBe(0)
    expect(hitRatio({ calls: 1e9, tokens: 40_000, processes: 1, cacheSeconds: 60 })).toBe(0.25)
  })
})

describe('whole pages in the log of Postgres', () => {
  const tables = bytesOfTables(rowsOf(1e9), COEFFICIENTS)

  test('are one for each change while the tables are much larger than the changes', () => {
    expect(pageImages({ ...all(0), authorization: 1 }, tables, 10)).toBeCloseTo(70, 0)
  })

  test('are at most the pages that exist', () => {
    const small = bytesOfTables({ ...rowsOf(0), grants: 1_000 }, COEFFICIENTS)
    expect(pageImages({ ...all(0), authorization: 1e6 }, small, 300)).toBeCloseTo((3 * 50 * 1_000) / 8_192)
  })
})

describe('fitting', () => {
  const levels = Object.fromEntries(OPERATIONS.map((name, index) => [name, [10, 100 + index] as [number, number]]))

  test('a design has each factor at each level equally often', () => {
    const runs = designOf(levels)
    expect(runs).toHaveLength(12)
    for (const [name, [low, high]] of Object.entries(levels)) {
      expect(runs.filter((run) => run[name] === low)).toHaveLength(6)
      expect(runs.filter((run) => run[name] === high)).toHaveLength(6)
    }
  })

  test('finds the base and the coefficients that made the values', () => {
    const made: Rates = Object.fromEntries(OPERATIONS.map((name, index) => [name, (index + 1) / 1_000]))
    const points = designOf(levels).map((rates) => ({
      rates,
      value: 0.2 + OPERATIONS.reduce((total, name) => total + (rates[name] ?? 0) * (made[name] ?? 0), 0)
    }))
    const fitted = fitLine(points, OPERATIONS)
    expect(fitted.base).toBeCloseTo(0.2)
    for (const name of OPERATIONS) expect(fitted[name]).toBeCloseTo(made[name] ?? 0)
  })

  test('takes the median of the same run of several rounds', () => {
    const rounds = [5, 1, 100].map((value) => [{ rates: { refresh: value }, value }])
    expect(medianPoints(rounds)).toEqual([{ rates: { refresh: 5 }, value: 5 }])
  })
})

test('growth finds the factor at which a limit is reached', () => {
  const factors = [1, 10]
  const grows = growth(DEFAULTS, factors, COEFFICIENTS)
  const connections = grows.find(({ name }) => name === 'connections to Postgres')
  const at = (factor: number) =>
    predict(
      {
        ...DEFAULTS,
        users: 1e5 * factor,
        apps: 10 * factor,
        'refreshes-per-second': 3 * factor,
        'calls-per-second': 100 * factor
      },
      COEFFICIENTS
    )
  expect(connections?.values).toEqual(factors.map((factor) => at(factor).connections.all))
  const order = grows.map(({ breaksAt = Number.MAX_VALUE }) => breaksAt)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  const consents = grows.find(({ name }) => name.startsWith('first consents'))
  expect(consents?.values[1]).toBeCloseTo(10 * (consents?.values[0] ?? 0))
  const breaksAt = connections?.breaksAt ?? 0
  expect(at(breaksAt).connections.all).toBeGreaterThan(500)
  expect(at(breaksAt * 0.98).connections.all).toBeLessThanOrEqual(500)
})

function rowsOf(count: number): Rates {
  return Object.fromEntries(Object.keys(COEFFICIENTS.rowBytes).map((table) => [table, count]))
}

function simulatedHitRatio({ calls = 0, tokens = 0, processes = 0, cacheSeconds = 0 }: Rates): number {
  const cachedUntil = new Map<string, number>()
  let random = 1
  // A linear congruential generator, so that the result is always the same.
  const next = () => {
    random = (random * 48_271) % 2_147_483_647
    return random / 2_147_483_647
  }
  let hits = 0
  const count = 100_000
  for (let number = 0; number < count; number++) {
    const now = number / calls
    const key = `${Math.floor(next() * tokens)} ${Math.floor(next() * processes)}`
    if ((cachedUntil.get(key) ?? 0) > now) hits += 1
    else cachedUntil.set(key, now + cacheSeconds)
  }
  return hits / count
}
