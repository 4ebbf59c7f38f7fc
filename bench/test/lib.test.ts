import { describe, expect, test } from '@jest/globals'

type Reader = (note: (name: string) => void) => (chunk: Buffer) => void
type Evaluated = { counter: string; kind: string; most: number }
type Module = {
  postgresReader: Reader
  redisReader: Reader
  evaluateCounters(measured: Record<string, number>, recorded?: Record<string, number>): Evaluated[]
  readRecorded(major: string): Record<string, Record<string, number>>
  COUNTERS: string[]
  COUNTERS_OF_USES: string[]
  costChart(chart: object): string
}

const load = async (name: string) => (await import(new URL(`../lib/${name}`, import.meta.url).href)) as Module
const { postgresReader, redisReader } = await load('wire-readers.mjs')
const { evaluateCounters, readRecorded, COUNTERS, COUNTERS_OF_USES } = await load('recorded-counters.mjs')
const { costChart } = await load('chart.mjs')

describe.each([
  ['in one piece', 10_000],
  ['in pieces of one byte', 1],
  ['in pieces of seven bytes', 7]
])('what a service sends to its stores, %s', (_, size) => {
  test('counts each execution of a statement under its name', () => {
    const parse = message('P', 'find\0select 1\0\0\0')
    const bind = message('B', '\0find\0\0\0\0\0\0\0')
    const unnamed = [message('P', '\0select\n  2\0\0\0'), message('B', '\0\0\0\0\0\0\0\0')]
    const execute = message('E', '\0\0\0\0\0')
    const sync = message('S', '')
    const sent = [
      startup,
      parse,
      bind,
      execute,
      sync,
      bind,
      execute,
      sync,
      ...unnamed,
      execute,
      message('Q', 'begin\0')
    ]
    expect(read(postgresReader, sent, size)).toEqual(['find', 'find', 'select 2', 'begin'])
  })

  test('counts each command to Redis under its first word, with any values', () => {
    const sent = [command('get', 'a'), command('SET', 'a', '*1\r\n$4\r\nPING\r\n'), command('EVALSHA', 'x', '0', 'é')]
    expect(read(redisReader, sent, size)).toEqual(['GET', 'SET', 'EVALSHA'])
  })
})

describe('a counter compared with its recorded value', () => {
  const recorded = Object.fromEntries(COUNTERS.map((counter) => [counter, 10]))

  test.each([
    ['SQL statements', 11, 'over'],
    ['SQL statements', 10, 'within'],
    ['SQL statements', 9, 'under'],
    ['system calls', 11, 'over'],
    ['KB allocated', 11, 'within'],
    ['KB allocated', 12, 'over'],
    ['WAL bytes', Number.NaN, 'over']
  ])('%s of %d is %s if 10 is recorded', (counter, value, kind) => {
    const results = evaluateCounters({ ...recorded, [counter]: value }, recorded)
    expect(results.filter((one) => one.kind !== 'within')).toEqual(
      kind === 'within' ? [] : [expect.objectContaining({ counter, kind })]
    )
  })

  test('is not compared if none is recorded', () => {
    expect(new Set(evaluateCounters(recorded).map(({ kind }) => kind))).toEqual(new Set(['not_recorded']))
  })

  test.each(['20', '24'])('every counter of every operation is recorded for Node %s', (major) => {
    const operations = Object.values(readRecorded(major))
    expect(operations.length).toBeGreaterThan(0)
    const allOf = (names: string[]) => Object.fromEntries(names.map((counter) => [counter, expect.any(Number)]))
    for (const counters of operations) expect([allOf(COUNTERS), allOf(COUNTERS_OF_USES)]).toContainEqual(counters)
    expect(operations).toContainEqual(allOf(COUNTERS_OF_USES))
  })
})

test('a chart draws each part of a bar to scale and escapes its texts', () => {
  const bars = [
    { name: 'a<b', parts: { server: 60, Postgres: 40 } },
    { name: 'c', parts: { server: 50, Postgres: 0 } }
  ]
  const svg = costChart({ title: 'Cost', panels: [{ title: 'One & two', bars }], unit: 'µs' })
  const widths = [...svg.matchAll(/<rect class="part\d" x="[\d.]+" y="\d+" width="([\d.]+)" height="14"\/>/g)].map(
    ([, width]) => Number(width)
  )
  // The first two are in the legend.
  const [longest, second, half] = widths.slice(2)
  expect((longest ?? 0) / (second ?? 1)).toBeCloseTo(1.5)
  expect((longest ?? 0) / (half ?? 1)).toBeCloseTo(1.2)
  expect(svg).toContain('a&lt;b')
  expect(svg).toContain('One &amp; two')
  expect(svg).toContain('prefers-color-scheme:dark')
})

/** The first message of a connection has no type. */
const startup = withLength(Buffer.from('\0\x03\0\0user\0valetkey\0\0', 'latin1'))

function message(type: string, body: string): Buffer {
  return Buffer.concat([Buffer.from(type), withLength(Buffer.from(body, 'latin1'))])
}

function withLength(body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}

function command(...words: string[]): Buffer {
  return Buffer.from(
    `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
  )
}

function read(reader: Reader, sent: Buffer[], size: number): string[] {
  const names: string[] = []
  const take = reader((name) => names.push(name))
  const all = Buffer.concat(sent)
  for (let start = 0; start < all.length; start += size) take(all.subarray(start, start + size))
  return names
}
