// Compares the model with a run that its coefficients were not fitted to: two processes of each service, more rows, other
// rates.
import { setTimeout as wait } from 'node:timers/promises'
import { table, writeFigures } from '../lib/figures.mjs'
import { describeRun } from '../lib/machine.mjs'
import { administer } from '../lib/stores.mjs'
import { readCoefficients } from './coefficients.mjs'
import { createMix, LOAD } from './mix.mjs'
import { auditRows, loadOf, SPENT_SECONDS } from './model.mjs'
import { startRig } from './rig.mjs'
import { bytesOfTables, totalBytes } from './rows.mjs'

const PAGE = 'capacity.md'
const SECONDS = Number(process.env.BENCH_SECONDS ?? 100)
/** With shorter runs nothing is written. */
const SECONDS_TO_WRITE = 90
const WARM_UP = 6_000
const MOST_OFF = 0.2
const SIZE = { pairs: 2, rows: 200_000, people: 150 }
/** Requests a second. */
const RATES = {
  // Above 50 for each process, some events `code_issued` would be counted instead of written (docs/audit.md).
  authorization: 85,
  refresh: 110,
  introspection: 130,
  apiMiss: 70,
  apiHit: 450,
  revocation: 15,
  signIn: 1.5
}

/**
 * Then the codes of the warm-up have expired in Redis, the limit of its events is over, Postgres has published its counters,
 * and the services have closed its idle connections (after 65 s).
 */
const FORGOTTEN_MS = 70_000

/** @returns the exit code: 1 if a prediction is off by more than MOST_OFF */
export async function verify(workplace) {
  const coefficients = readCoefficients()
  const rig = await startRig(workplace, SIZE)
  const [databaseUrl] = rig.stores.databaseUrls
  const mix = await createMix(rig)
  const redisBefore = (await rig.meters.read()).bytes
  const signInsBefore = await mix.warmUp(WARM_UP)
  const rows = await rowsNow(databaseUrl)
  await administer(databaseUrl, 'vacuum (analyze)', 'checkpoint')
  await wait(FORGOTTEN_MS)
  const before = await countersOf(rig, databaseUrl)
  console.log(`${SECONDS} s …`)
  const run = await mix.run(RATES, SECONDS)
  const after = await countersOf(rig, databaseUrl)
  const rates = Object.fromEntries(Object.entries(run.counts).map(([name, count]) => [name, count / run.seconds]))
  const measured = {
    ...Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]])),
    ...{ cores: (name) => run[name] / run.seconds, commands: run.commands / run.seconds },
    ...{ wal: run.walBytes / run.seconds, images: run.walImages / run.seconds },
    redisBytes: (await rig.meters.read()).bytes - redisBefore
  }
  const signIns = signInsBefore + run.counts.signIn
  const load = { rates, seconds: run.seconds, rows, signIns }
  const lines = compare(predictRun(load, coefficients), measured)
  return report(lines, { run: await describeRun(rig.stores), rates, others: run.others / run.seconds, coefficients })
}

/** The model's values for the run. */
function predictRun({ rates, seconds, rows, signIns }, coefficients) {
  const processes = { authorizationServers: SIZE.pairs, resourceServers: SIZE.pairs, subscribers: SIZE.pairs }
  const tables = bytesOfTables(rows, coefficients)
  const load = loadOf({ rates, processes, tables, checkpointSeconds: seconds }, coefficients)
  const issued = (rates.authorization + rates.refresh) * seconds
  const audit = auditRows(rates, coefficients) * seconds
  const added = {
    ...{ grants: rates.authorization * seconds, refresh_tokens: issued, access_tokens: issued },
    audit_events: audit
  }
  const { redis } = coefficients
  return {
    ...load,
    diskBytes: totalBytes(bytesOfTables(added, coefficients)),
    auditRows: audit,
    revocationsReceived: rates.revocation * SIZE.pairs * seconds,
    redisBytes: rates.authorization * SPENT_SECONDS * redis.spentCode + signIns * redis.session
  }
}

function compare(predicted, measured) {
  const cores = ['authorizationServer', 'resourceServer', 'postgres', 'redis'].map((name) => ({
    ...{ name: NAMES[name], unit: 'cores', predicted: predicted.cores[name], measured: measured.cores(name) }
  }))
  const line = (name, unit, of) => ({ name, unit, predicted: of(predicted), measured: of(measured) })
  return [
    ...cores,
    {
      ...line('log of Postgres', 'KiB/s', () => 0),
      predicted: predicted.wal.bytes / 1_024,
      measured: measured.wal / 1_024
    },
    { ...line('whole pages in it', '/s', () => 0), predicted: predicted.wal.images, measured: measured.images },
    line('tables and indexes, growth', 'KiB', ({ diskBytes }) => diskBytes / 1_024),
    line('audit events', 'rows', (one) => one.auditRows),
    line('memory of Redis, growth', 'KiB', ({ redisBytes }) => redisBytes / 1_024),
    line('commands of Redis', '/s', ({ commands }) => commands),
    line('revocations received by authorization servers', '', (one) => one.revocationsReceived)
  ]
}

const NAMES = {
  authorizationServer: 'authorization servers',
  resourceServer: 'resource servers',
  postgres: 'Postgres',
  redis: 'Redis'
}

async function countersOf({ target }, url) {
  const [{ bytes }] = await administer(url, 'select pg_database_size(current_database()) as bytes')
  const [{ rows }] = await administer(url, 'select count(*) as rows from audit_events')
  let revocationsReceived = 0
  for (const { metricsUrl } of target.urls) {
    const text = await (await fetch(metricsUrl)).text()
    revocationsReceived += Number(/^valetkey_feed_revocations_total (\d+)/m.exec(text)?.[1])
  }
  return { diskBytes: Number(bytes), auditRows: Number(rows), revocationsReceived }
}

/** Rows of each table; access tokens: of the table into which the run writes. */
async function rowsNow(url) {
  const count = async (from) => Number((await administer(url, `select count(*) as rows from ${from}`))[0].rows)
  return {
    users: await count('users'),
    grants: await count('grants'),
    refresh_tokens: await count('refresh_tokens'),
    access_tokens: SIZE.rows / 2,
    audit_events: await count('audit_events')
  }
}

function report(lines, { run, rates, others, coefficients }) {
  const isOff = ({ predicted, measured }) => Math.abs(predicted / measured - 1) > MOST_OFF
  const rows = lines.map((line) => [
    `${line.name}${line.unit === '' ? '' : `, ${line.unit}`}`,
    ...[line.predicted, line.measured].map((value) => value.toPrecision(3)),
    `${(line.predicted / line.measured).toFixed(2)}${isOff(line) ? ' **off**' : ''}`
  ])
  const sent = Object.entries(rates).map(([name, rate]) => `${name} ${rate.toFixed(1)}`)
  const markdown = [
    `${run}. ${SECONDS} s, ${SIZE.pairs} processes of each service, ${SIZE.rows.toLocaleString('en-GB')} grants; a second: ` +
      `${sent.join(', ')}. Other programs used ${Math.max(0, others).toFixed(2)} cores.`,
    `Coefficients: ${coefficients.run}.`,
    table(['', 'predicted', 'measured', 'ratio'], rows)
  ].join('\n\n')
  console.log(markdown)
  if (SECONDS >= SECONDS_TO_WRITE && LOAD === 1) writeFigures(PAGE, 'capacity verification', markdown)
  else console.log(`\nnot written: that takes ${SECONDS_TO_WRITE} s at the full rates`)
  return lines.some(isOff) ? 1 : 0
}
