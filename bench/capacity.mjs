// npm run bench:capacity: measures the coefficients of the capacity model and writes bench/capacity/coefficients.json.
// With -- --verify: a run with other rates, rows and processes, compared with what the model predicts; writes the result to
// docs/capacity.md and exits with 1 if a value differs by more than 20 %. Linux only; each takes up to six minutes.
import { writeCoefficients } from './capacity/coefficients.mjs'
import { designOf, fitLine, medianPoints } from './capacity/fit.mjs'
import { DEFAULTS } from './capacity/input.mjs'
import { growth } from './capacity/limits.mjs'
import { measureConsents, measureNotifications } from './capacity/measure-locks.mjs'
import { measureRedisBytes, measureTables, rowBytesOf } from './capacity/measure-sizes.mjs'
import { measureExpiry, measureWrites } from './capacity/measure-writes.mjs'
import { PROCESSES } from './capacity/meters.mjs'
import { createMix, LOAD, OPERATIONS } from './capacity/mix.mjs'
import { predict } from './capacity/model.mjs'
import { coefficientTables, growthTable, needsTable } from './capacity/report.mjs'
import { startRig } from './capacity/rig.mjs'
import { verify } from './capacity/verify.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { writeFigures } from './lib/figures.mjs'
import { describeRun } from './lib/machine.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4)
const ROUNDS_TO_WRITE = 4
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3)
const SIZE = { pairs: 1, rows: 100_000, people: 100 }
const WARM_UP = 4_000
/** Requests of each operation, to measure what it writes. */
const WRITES = 400
const CODES = 1_500
/** Low and high requests a second of each operation. Together they keep the servers' core about half busy. */
const LEVELS = {
  authorization: [50, 150],
  refresh: [60, 200],
  introspection: [100, 400],
  apiMiss: [50, 150],
  apiHit: [200, 800],
  revocation: [10, 40],
  signIn: [1, 6]
}
/** The operations that a kind of process takes part in. */
const PARTS = {
  authorizationServer: OPERATIONS.filter((name) => name !== 'apiHit'),
  resourceServer: ['apiMiss', 'apiHit'],
  postgres: OPERATIONS,
  redis: ['authorization', 'signIn']
}
const PAGE = 'capacity.md'
/** Sizes for "what breaks first", relative to the example. */
const FACTORS = [1, 10, 100, 1_000]
const TABLES = ['users', 'grants', 'refresh_tokens', 'access_tokens', 'audit_events']
/** Resident bytes of a process after a million operations, from docs/capacity.md ("A process"). */
const MEMORY = { authorizationServer: 171e6, resourceServer: 138e6 }

await inWorkplace((workplace) => {
  moveToOtherCore()
  return process.argv.includes('--verify') ? verify(workplace) : measure(workplace)
})

async function measure(workplace) {
  const rig = await startRig(workplace, SIZE)
  // First: codes of other measurements would expire meanwhile.
  const redisBytes = await measureRedisBytes(rig, CODES)
  const mix = await createMix(rig)
  const { records, auditRows, commands, image } = await measureWrites(rig, mix, WRITES)
  await mix.warmUp(WARM_UP)
  console.log('warm; measuring …')
  const [databaseUrl] = rig.stores.databaseUrls
  const tables = await measureTables(databaseUrl, TABLES)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const design = designOf(LEVELS)
    const runs = round % 2 === 0 ? design : design.toReversed()
    const measured = []
    for (const run of runs) measured.push(await mix.run(run, SECONDS))
    rounds.push(round % 2 === 0 ? measured : measured.toReversed())
    const others = measured.map((one) => one.others / one.seconds)
    console.log(`round ${round + 1} of ${ROUNDS}; other programs used ${Math.max(...others).toFixed(2)} cores at most`)
  }
  const rowBytes = rowBytesOf(tables, await measureTables(databaseUrl, TABLES))
  const redis = { ...redisBytes, commands }
  const notification = await measureNotifications(rig, { perSecond: 400, seconds: SECONDS, listeners: 20 })
  const consentsPerSecond = await measureConsents(rig, SECONDS)
  const expiry = await measureExpiry(rig, 'refresh_tokens')
  const groups = {
    cores: { ...coresOf(rounds), expiry: { postgres: expiry.postgres } },
    wal: { records: { ...records, expiry: expiry.wal }, image },
    ...{ auditRows, rowBytes, redis, notification, hotRows: { consentsPerSecond }, memory: MEMORY }
  }
  report(await describeRun(rig.stores), groups)
  return 0
}

function report(run, groups) {
  const coefficients = coefficientTables(groups)
  console.log(`${run}\n\n${coefficients}`)
  const isComplete = LOAD === 1 && ROUNDS >= ROUNDS_TO_WRITE
  if (isComplete || process.env.BENCH_COEFFICIENTS) writeCoefficients(run, groups)
  if (!isComplete)
    return console.log(`\nthe page is not written: that takes ${ROUNDS_TO_WRITE} rounds at the full rates`)
  const measured = `${run}. ${ROUNDS} rounds of 12 runs of ${SECONDS} s.`
  writeFigures(PAGE, 'capacity coefficients', `${measured}\n\n${coefficients}`)
  writeFigures(PAGE, 'capacity example', needsTable(predict({}, groups)))
  writeFigures(PAGE, 'capacity growth', growthTable(growth(DEFAULTS, FACTORS, groups), FACTORS))
}

/** @returns for `base` and each operation: processor seconds of each kind of process */
function coresOf(rounds) {
  const cores = Object.fromEntries(['base', ...OPERATIONS].map((name) => [name, {}]))
  for (const process of PROCESSES) {
    const points = medianPoints(rounds.map((round) => round.map((run) => pointOf(run, process))))
    const fitted = fitLine(points, PARTS[process])
    for (const [name, value] of Object.entries(fitted)) cores[name][process] = value
  }
  return cores
}

function pointOf({ counts, seconds, ...spent }, process) {
  const rates = Object.fromEntries(OPERATIONS.map((name) => [name, counts[name] / seconds]))
  return { rates, value: spent[process] / seconds }
}
