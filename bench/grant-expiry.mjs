// npm run bench:grant-expiry: six designs of the table of grants, each with 100,000 live grants and 416,667 expired ones. Prints
// what the removal of the expired ones costs in each, and what statements of a request cost (ADR 0025). Takes five minutes.
// BENCH_GRANTS replaces the number of live grants. Postgres writes no images of whole pages, so that the bytes of its log are the
// same in each run.
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { commandLine } from '../packages/dev-stack/lib/start/command-lines.mjs'
import { DESIGNS } from './grant-expiry/designs.mjs'
import { EXPIRED, fill, TIMES, valuesOf } from './grant-expiry/rows.mjs'
import { walBytesSince, walPosition } from './lib/expire.mjs'
import { table } from './lib/figures.mjs'
import { describeRun } from './lib/machine.mjs'
import { familySeconds } from './lib/process-seconds.mjs'
import { median } from './lib/statistics.mjs'
import { storeProcesses } from './lib/store-processes.mjs'
import { administer, createStores } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const LIVE = Number(process.env.BENCH_GRANTS ?? 100_000)
const MIB = 2 ** 20

await inWorkplace(async ({ directory, processes }) => {
  // Its own server, because a setting of the server changes.
  const stores = await createStores(['grants'], { directory, processes, environment: {} })
  const [databaseUrl] = stores.databaseUrls
  await administer(stores.clusterUrl, 'alter system set full_page_writes = off', 'select pg_reload_conf()')
  const environment = { PATH: process.env.PATH, DATABASE_URL: databaseUrl }
  await commandLine({ service: 'authorization-server', environment, processes })(['migrate'])
  const { postgres } = await storeProcesses(stores)
  const removals = []
  const requests = []
  for (const design of DESIGNS) {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const measured = await measureDesign(client, { design, databaseUrl, postgres })
    await client.end()
    removals.push([design.name, ...measured.removal])
    requests.push([design.name, ...measured.statements])
    console.log(`measured: ${design.name}`)
  }
  const statements = Object.keys(DESIGNS[0].statements)
  const heads = statements.map((name) => `${name}: µs, pages, bytes`)
  console.log(
    [
      `\n${await describeRun(stores)}. ${LIVE} live grants, ${EXPIRED} expired ones.`,
      table(['design', 'removal', 'processor', 'log', 'vacuum', 'processor', 'log'], removals),
      table(['design', ...heads], requests)
    ].join('\n\n')
  )
  return 0
})

async function measureDesign(client, { design, databaseUrl, postgres }) {
  for (const statement of design.create) await client.query(statement)
  await fill(client, { ...design, live: LIVE })
  for (const statement of design.index ?? []) await client.query(statement)
  await client.query(`vacuum (analyze) ${design.table}`)
  await client.query('checkpoint')
  const statements = []
  for (const [name, text] of Object.entries(design.statements)) statements.push(await costOf(client, { name, text }))
  const removal = [
    ...(await costOfWork({ databaseUrl, postgres }, () => design.remove(client, databaseUrl))),
    ...(await costOfWork({ databaseUrl, postgres }, () => client.query(`vacuum ${design.table}`)))
  ]
  for (const statement of design.drop) await client.query(statement)
  return { removal, statements }
}

/** @returns time, processor time of Postgres, and bytes written to its log */
async function costOfWork({ databaseUrl, postgres }, work) {
  const before = await walPosition(databaseUrl)
  const secondsBefore = familySeconds(postgres)
  const from = performance.now()
  await work()
  const milliseconds = performance.now() - from
  const processor = (familySeconds(postgres) - secondsBefore) * 1_000
  const bytes = await walBytesSince(databaseUrl, before)
  return [`${milliseconds.toFixed(0)} ms`, `${processor.toFixed(0)} ms`, `${(bytes / MIB).toFixed(2)} MiB`]
}

/** Medians of a statement with a kept plan: time of execution, pages read, and bytes written to the log. */
async function costOf(client, { name, text }) {
  // As in the connections of the service.
  await client.query('set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off')
  await client.query(`prepare measured as ${text}`)
  const runs = []
  for (let run = 0; run < TIMES; run++) {
    const parameters = valuesOf(name, run, LIVE).join(', ')
    const { rows } = await client.query(
      `explain (analyze, buffers, wal, timing off, format json) execute measured (${parameters})`
    )
    const [{ Plan: plan, 'Execution Time': milliseconds }] = rows[0]['QUERY PLAN']
    const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    runs.push({ microseconds: milliseconds * 1_000, pages, bytes: plan['WAL Bytes'] })
  }
  await client.query('deallocate measured')
  const middle = (what) => median(runs.map(what)).toFixed(0)
  return [middle((run) => run.microseconds), middle((run) => run.pages), middle((run) => run.bytes)].join(', ')
}
