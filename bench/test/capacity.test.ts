import { expect, test } from '@jest/globals'

type Counters = Record<string, number>
type Run = Counters & { counts: Counters }
type Size = { name: string; rows: number; heap: number; indexes: number }
type Costs = Record<'refresh' | 'signIn' | 'base', Counters>

const costs = new URL('../capacity/costs.mjs', import.meta.url).href
const { costsOf, medianCosts, rowSizes } = (await import(costs)) as {
  costsOf(base: Run, raised: Record<string, Run>): Costs
  medianCosts(rounds: Costs[]): Costs
  rowSizes(before: Size[], after: Size[]): { name: string; heap: number; indexes: number }[]
}

const COUNTERS = ['authorizationServer', 'resourceServer', 'postgres', 'redis', 'walBytes', 'commands', 'auditRows']
/** A run of ten seconds in which a process costs 0.2 a second, a refresh 0.003 and a sign-in 0.04, by every counter. */
function runWith(refresh: number, signIn: number): Run {
  const value = 10 * 0.2 + refresh * 0.003 + signIn * 0.04
  const counters = Object.fromEntries(COUNTERS.map((counter) => [counter, value]))
  return Object.assign(counters, { seconds: 10, counts: { refresh, signIn } }) as unknown as Run
}

test('costsOf finds the cost of each operation, and of a second without requests', () => {
  const found = costsOf(runWith(100, 10), { refresh: runWith(400, 10), signIn: runWith(100, 60) })
  for (const counter of COUNTERS) {
    expect(found.refresh[counter]).toBeCloseTo(0.003)
    expect(found.signIn[counter]).toBeCloseTo(0.04)
    expect(found.base[counter]).toBeCloseTo(0.2)
  }
})

test('medianCosts takes the median of each cost over the rounds', () => {
  const all = (value: number) => Object.fromEntries(COUNTERS.map((counter) => [counter, value]))
  const rounds = [5, 1, 100].map((value) => ({ refresh: all(value), signIn: all(2 * value), base: all(0) }))
  expect(medianCosts(rounds)).toEqual({ refresh: all(5), signIn: all(10), base: all(0) })
})

test('rowSizes divides the growth of a table by its new rows, and all of it if there are few new rows', () => {
  const before = [
    { name: 'grants', rows: 10_000, heap: 1_000_000, indexes: 500_000 },
    { name: 'users', rows: 2_000, heap: 400_000, indexes: 200_000 }
  ]
  const after = [
    { name: 'grants', rows: 12_000, heap: 1_600_000, indexes: 700_000 },
    { name: 'users', rows: 2_000, heap: 400_000, indexes: 200_000 }
  ]
  expect(rowSizes(before, after)).toEqual([
    { name: 'grants', heap: 300, indexes: 100 },
    { name: 'users', heap: 200, indexes: 100 }
  ])
})
