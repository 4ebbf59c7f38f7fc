// Calculates costs from measurements. Pure.
import { median } from '../lib/statistics.mjs'

/** The counters of a run whose cost is calculated (see createMeters). */
const COUNTERS = ['authorizationServer', 'resourceServer', 'postgres', 'redis', 'walBytes', 'commands', 'auditRows']

/**
 * @param base a run with all operations at their low rates: `seconds`, `counts` of each operation, and the counters
 * @param raised for each operation a run in which it alone has a higher rate
 * @returns for each operation the cost of one request by counter, and for `base` what a second costs without requests
 */
export function costsOf(base, raised) {
  const costs = Object.fromEntries(Object.entries(raised).map(([name, run]) => [name, costOf(name, base, run)]))
  const without = (counter) =>
    Object.keys(raised).reduce((rest, name) => rest - base.counts[name] * costs[name][counter], base[counter])
  return { ...costs, base: byCounter((counter) => without(counter) / base.seconds) }
}

function costOf(name, base, run) {
  const requests = run.counts[name] - base.counts[name]
  return byCounter((counter) => (run[counter] - base[counter]) / requests)
}

/** The median of each cost over the rounds, so that other load changes little. */
export function medianCosts(rounds) {
  const names = Object.keys(rounds[0])
  const of = (name) => byCounter((counter) => median(rounds.map((round) => round[name][counter])))
  return Object.fromEntries(names.map((name) => [name, of(name)]))
}

/** Fewer new rows are too few pages. */
const ENOUGH_ROWS = 1_000

/**
 * @param before see tableSizes
 * @returns bytes of a row of each table and of its index entries, by the growth, so that old versions of updated rows count as
 *   well; by all rows if there are few new ones
 */
export function rowSizes(before, after) {
  return after.map(({ name, rows, heap, indexes }) => {
    const earlier = before.find((one) => one.name === name)
    const isGrown = earlier !== undefined && rows - earlier.rows >= ENOUGH_ROWS
    const from = isGrown ? earlier : { rows: 0, heap: 0, indexes: 0 }
    const added = rows - from.rows
    return { name, heap: (heap - from.heap) / added, indexes: (indexes - from.indexes) / added }
  })
}

const byCounter = (value) => Object.fromEntries(COUNTERS.map((counter) => [counter, value(counter)]))
