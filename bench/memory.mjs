// npm run bench:memory: memory of both services when ready, after 100,000 and after 1,000,000 operations, and their start
// time compared with the floor. Prints the figures and writes them to docs/capacity.md. Exits with 1 if a goal is missed.
// BENCH_OPERATIONS replaces the million; then nothing is written. Linux only.

import { mostResidentMegabytes, residentMegabytes } from '../packages/dev-stack/lib/processes/resident-megabytes.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { table, writeFigures } from './lib/figures.mjs'
import { describeRun } from './lib/machine.mjs'
import { SENDERS } from './lib/measure.mjs'
import { operationsOf } from './lib/operations.mjs'
import { startRival } from './lib/rivals.mjs'
import { inRounds } from './lib/rounds.mjs'
import { sendAll } from './lib/send-all.mjs'
import { median } from './lib/statistics.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const OPERATIONS = Number(process.env.BENCH_OPERATIONS ?? 1_000_000)
const OPERATIONS_TO_WRITE = 1_000_000
const STARTS = Number(process.env.BENCH_ROUNDS ?? 6)
const PAGE = 'capacity.md'
// A code, its exchange, an introspection and a page of files.
const OPERATIONS_A_TURN = 4
const SAMPLE_EVERY_MS = 100
const GOALS = { idle: 90, early: 130, growth: 1.05, start: 1.3 }

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const names = ['floor', 'authorization', 'files']
  const stores = await createStores(names, { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const { redisUrl, databaseUrls } = stores
  const floor = await startRival('floor', {
    databaseUrl: databaseUrls[0],
    redisUrl,
    directory: `${directory}/floor`,
    processes
  })
  const valetkey = await startValetkey({
    databaseUrls: databaseUrls.slice(1),
    redisUrl,
    directory: `${directory}/valetkey`,
    processes,
    environment: { CODE_TTL: '29', ...process.env }
  })
  const contenders = [
    { name: 'floor', target: floor, operations: OPERATIONS / 10 },
    { name: 'valetkey', target: valetkey, operations: OPERATIONS }
  ]
  // Started in addition to the running ones.
  const starts = await inRounds(contenders, STARTS, ({ target }) => target.tryStarts())
  const memory = new Map()
  for (const { name, target, operations } of contenders) memory.set(name, await work(target, operations))
  return report({ memory, starts, run: await describeRun(stores) })
})

/** @returns for each process: memory after a tenth of OPERATIONS, after all of its operations, and the peak */
async function work(target, operations) {
  const early = await send(target, OPERATIONS / 10)
  const late = operations > OPERATIONS / 10 ? await send(target, operations - OPERATIONS / 10) : []
  return target.pids.map((pid, index) => ({ early: early[index], late: late[index], most: mostResidentMegabytes(pid) }))
}

/** @returns the median of each process over the last part, which always has the same length */
async function send(target, count) {
  const operations = operationsOf(target)
  const turns = Math.ceil(count / OPERATIONS_A_TURN)
  const samples = target.pids.map(() => [])
  let sent = 0
  const timer = setInterval(() => {
    if (turns - sent > OPERATIONS / 10 / OPERATIONS_A_TURN / 2) return
    for (const [index, pid] of target.pids.entries()) samples[index].push(residentMegabytes(pid))
  }, SAMPLE_EVERY_MS)
  try {
    await sendAll(turn, { count: turns, senders: SENDERS })
  } finally {
    clearInterval(timer)
    operations.close()
  }
  return samples.map(median)

  async function turn() {
    const token = await operations.exchange(await operations.authorize())
    await operations.introspect(token)
    await operations.files(token)
    sent++
  }
}

function report({ memory, starts, run }) {
  const parts = ['authorization server', 'resource server']
  const startOf = (name, part, what) => median(starts.get(name).map((started) => started[part][what]))
  const rows = [...memory].flatMap(([name, ofParts]) =>
    ofParts.map(({ early, late, most }, part) => [
      `${name}, ${parts[part]}`,
      ...[startOf(name, part, 'megabytes'), early, late].map((megabytes) => megabytes?.toFixed(0) ?? ''),
      late === undefined ? '' : (late / early).toFixed(2),
      most.toFixed(0),
      startOf(name, part, 'milliseconds').toFixed(0)
    ])
  )
  const head = [
    'memory in MB',
    'ready',
    `${OPERATIONS / 10} operations`,
    `${OPERATIONS}`,
    'growth',
    'most',
    'ready in ms'
  ]
  const faults = memory.get('valetkey').flatMap(({ early, late }, part) => {
    const slower = startOf('valetkey', part, 'milliseconds') / startOf('floor', part, 'milliseconds')
    return [
      startOf('valetkey', part, 'megabytes') > GOALS.idle && `${parts[part]}: over ${GOALS.idle} MB when it is ready`,
      early > GOALS.early && `${parts[part]}: over ${GOALS.early} MB after ${OPERATIONS / 10} operations`,
      late > early * GOALS.growth && `${parts[part]}: grew by more than a factor of ${GOALS.growth}`,
      slower > GOALS.start &&
        `${parts[part]}: ready after ${slower.toFixed(2)} times the floor's time, not ${GOALS.start}`
    ]
  })
  const missed = faults.filter(Boolean)
  const verdict = missed.length === 0 ? 'Every goal is met.' : missed.map((fault) => `- ${fault}`).join('\n')
  const markdown = [`${run}. ${STARTS} starts each; ${SENDERS} requests at a time.`, table(head, rows), verdict].join(
    '\n\n'
  )
  console.log(markdown)
  if (OPERATIONS >= OPERATIONS_TO_WRITE) writeFigures(PAGE, 'memory', markdown)
  else console.log(`\nnot written: the page is about ${OPERATIONS_TO_WRITE} operations`)
  return missed.length === 0 ? 0 : 1
}
