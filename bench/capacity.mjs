// npm run bench:capacity: the cost of one request of each operation, and the bytes of a row of each table. Each round sends all
// operations together at their low rates, then once more for each operation with that one at its high rate; the difference
// divided by the number of additional requests is its cost. Prints the tables and writes them to docs/capacity.md. Linux only.
import { costsOf, medianCosts, rowSizes } from './capacity/costs.mjs'
import { createMix, OPERATIONS } from './capacity/mix.mjs'
import { startRig } from './capacity/rig.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { table, writeFigures } from './lib/figures.mjs'
import { describeRun } from './lib/machine.mjs'
import { tableSizes } from './lib/store-sizes.mjs'
import { administer } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4)
const ROUNDS_TO_WRITE = 4
/** Housekeeping erases the responses of refreshes every five seconds. */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10)
const SIZE = { rows: 100_000, people: 100 }
const WARM_UP = 4_000
/**
 * Low and high requests a second of each operation. Together they keep the servers' core about half busy. Above 50 codes a second,
 * some events `code_issued` would be counted instead of written (docs/audit.md).
 */
const LEVELS = {
  authorization: [20, 45],
  refresh: [60, 200],
  introspection: [100, 400],
  apiMiss: [20, 70],
  apiHit: [200, 800],
  revocation: [10, 40],
  signIn: [1, 11]
}
const TABLES = ['users', 'grants', 'refresh_tokens', 'access_tokens', 'audit_events']
const WRITING = ['authorization', 'refresh', 'revocation', 'signIn']
/** Headings, with the counter, its factor, and the operations that take part. */
const COLUMNS = [
  ['authorization server µs', 'authorizationServer', 1e6, OPERATIONS.filter((name) => name !== 'apiHit')],
  ['resource server µs', 'resourceServer', 1e6, ['apiMiss', 'apiHit']],
  ['Postgres µs', 'postgres', 1e6, OPERATIONS],
  ['Redis µs', 'redis', 1e6, ['authorization', 'signIn']],
  ['log bytes', 'walBytes', 1, WRITING],
  ['Redis commands', 'commands', 1, ['authorization', 'signIn']],
  ['audit events', 'auditRows', 1, WRITING]
]

await inWorkplace(async (workplace) => {
  moveToOtherCore()
  const rig = await startRig(workplace, SIZE)
  await withoutOtherWrites(rig.stores, workplace)
  const [databaseUrl] = rig.stores.databaseUrls
  const before = await tableSizes(databaseUrl)
  const mix = await createMix(rig)
  await mix.warmUp(WARM_UP)
  console.log('warm; measuring …')
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(mix, round))
  const sizes = rowSizes(before, await tableSizes(databaseUrl)).filter(({ name }) => TABLES.includes(name))
  return report(await describeRun(rig.stores), medianCosts(rounds), sizes)
})

/** Whole pages and autovacuum would add to the log of Postgres at any time. */
async function withoutOtherWrites({ clusterUrl }, { afterwards }) {
  const settings = ['full_page_writes', 'autovacuum']
  const change = (how) => [...settings.map((name) => `alter system ${how(name)}`), 'select pg_reload_conf()']
  afterwards(() => administer(clusterUrl, ...change((name) => `reset ${name}`)))
  await administer(clusterUrl, ...change((name) => `set ${name} = off`))
}

async function measureRound(mix, round) {
  const low = Object.fromEntries(OPERATIONS.map((name) => [name, LEVELS[name][0]]))
  const base = await mix.run(low, SECONDS)
  const raised = {}
  for (const name of round % 2 === 0 ? OPERATIONS : OPERATIONS.toReversed()) {
    raised[name] = await mix.run({ ...low, [name]: LEVELS[name][1] }, SECONDS)
  }
  const others = [base, ...Object.values(raised)].map((run) => run.others / run.seconds)
  console.log(`round ${round + 1} of ${ROUNDS}; other programs used ${Math.max(...others).toFixed(2)} cores at most`)
  return costsOf(base, raised)
}

function report(run, costs, sizes) {
  const count = (value) => Math.round(value).toLocaleString('en-GB')
  const operations = OPERATIONS.map((name) => [
    name,
    ...COLUMNS.map(([, counter, factor, parts]) =>
      parts.includes(name) ? count(Math.max(0, costs[name][counter] * factor)) : ''
    )
  ])
  const base = COLUMNS.map(([, counter], index) => (index < 4 ? Math.max(0, costs.base[counter]).toPrecision(2) : ''))
  const rows = sizes.map(({ name, heap, indexes }) => [`\`${name}\``, count(heap), count(indexes)])
  const markdown = [
    `${run}. ${ROUNDS} rounds of ${OPERATIONS.length + 1} runs of ${SECONDS} s.`,
    table(['one request', ...COLUMNS.map(([heading]) => heading)], [['a process, in cores', ...base], ...operations]),
    table(['table', 'bytes a row', 'of its indexes'], rows)
  ].join('\n\n')
  console.log(markdown)
  if (ROUNDS >= ROUNDS_TO_WRITE) writeFigures('capacity.md', 'capacity costs', markdown)
  else console.log(`\nnot written: that takes ${ROUNDS_TO_WRITE} rounds`)
  return 0
}
