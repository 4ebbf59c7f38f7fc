// The recorded counters, and their allowed deviations.
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('../recorded-counters.json', import.meta.url)

/** A counter may be `recorded × times + plus`. `ofNode`: it depends on Node, and is recorded for each major version. */
const OF_REQUESTS = {
  'SQL statements': { times: 1, plus: 0.1 },
  'SQL statements of 32 at once': { times: 1, plus: 4 },
  'Redis commands': { times: 1, plus: 0.1 },
  'Redis commands, with those of scripts': { times: 1, plus: 0.1 },
  'system calls': { times: 1, plus: 0.5, ofNode: true },
  'system calls of 32 at once': { times: 1, plus: 1, ofNode: true },
  'KB allocated': { times: 1.05, plus: 1, ofNode: true },
  'WAL bytes': { times: 1.05, plus: 24 }
}

/** Counters of what the service writes some seconds after introspections. */
const OF_USES = {
  'statements for 1,000 grants used within the hour': { times: 1, plus: 0 },
  'WAL bytes for a grant used within the hour': { times: 1, plus: 24 },
  'statements for 1,000 grants used earlier': { times: 1, plus: 1 }
}

const TOLERANCES = { ...OF_REQUESTS, ...OF_USES }
export const COUNTERS = Object.keys(OF_REQUESTS)
export const COUNTERS_OF_USES = Object.keys(OF_USES)

/** @returns operation → counter → value, for this major version of Node; undefined where there is none */
export function readRecorded(nodeMajor) {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8'))
  return mapCounters(recorded, ({ value }) => (typeof value === 'number' ? value : value[nodeMajor]))
}

/** @param measured Node's major version → operation → counter → value */
export function writeRecorded(measured) {
  const [[, first]] = measured
  const recorded = mapCounters(first, ({ operation, counter }) => {
    const least = Math.min(...[...measured.values()].map((operations) => operations[operation][counter]))
    if (!TOLERANCES[counter].ofNode) return rounded(least)
    return Object.fromEntries([...measured].map(([major, all]) => [major, rounded(all[operation][counter])]))
  })
  writeFileSync(FILE, `${JSON.stringify(recorded, null, 2)}\n`)
}

/** @returns for each counter `{ counter, recorded, most, measured, kind }`; `kind`: over, within, under, not_recorded */
export function evaluateCounters(measured, recorded = {}) {
  return Object.keys(measured).map((counter) => {
    const { times, plus } = TOLERANCES[counter]
    const value = recorded[counter]
    const most = value * times + plus
    return { counter, recorded: value, most, measured: measured[counter], kind: kindOf(measured[counter], value, most) }
  })
}

function kindOf(measured, recorded, most) {
  if (recorded === undefined) return 'not_recorded'
  if (!(measured <= most)) return 'over'
  return measured < recorded - (most - recorded) ? 'under' : 'within'
}

const rounded = (value) => Math.round(value * 10) / 10

function mapCounters(operations, change) {
  const ofOne = (operation, counters) =>
    Object.fromEntries(
      Object.entries(counters).map(([counter, value]) => [counter, change({ operation, counter, value })])
    )
  return Object.fromEntries(
    Object.entries(operations).map(([operation, counters]) => [operation, ofOne(operation, counters)])
  )
}
