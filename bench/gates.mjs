// npm run bench:gates: counts the statements, commands and system resources of each operation and compares them with
// recorded-counters.json. Exits with 1 if a counter is too high. With --record it writes that file instead. README.md
// describes the counters. Linux only.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { countOperation } from './lib/count-operation.mjs'
import { countUses } from './lib/count-uses.mjs'
import { startCounted } from './lib/counted-instance.mjs'
import { table } from './lib/figures.mjs'
import { findNode, majorOf, OF_IMAGES, OLDEST } from './lib/nodes.mjs'
import { COUNTERS, COUNTERS_OF_USES, evaluateCounters, readRecorded, writeRecorded } from './lib/recorded-counters.mjs'
import { administer, createStores } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'

// Other programs on the machine can only increase a counter, so the lowest of several measurements is used.
const ATTEMPTS = 3

/** The operations counted on each kind of instance; `name` is the name in the report, `count` replaces `countOperation`. */
const INSTANCES = [
  {
    cacheSeconds: '0',
    refreshes: false,
    operations: [
      { operation: 'code', name: 'code' },
      { operation: 'exchange', name: 'exchange' },
      { operation: 'introspection', name: 'introspection' },
      { operation: 'files', name: 'files' },
      { operation: 'introspection of other grants', name: 'uses, 10 s later', count: countUses }
    ]
  },
  {
    cacheSeconds: '60',
    refreshes: true,
    operations: [
      { operation: 'exchange', name: 'exchange with a refresh token' },
      { operation: 'refresh', name: 'refresh' },
      { operation: 'files', name: 'files, cached' }
    ]
  }
]

await inWorkplace((workplace) => (process.argv.includes('--record') ? record(workplace) : pass(workplace)))

async function record(workplace) {
  const measured = new Map()
  for (const version of [OLDEST, OF_IMAGES]) {
    const counted = await countAll(workplace, { node: findNode(version), name: version }, () => true)
    measured.set(majorOf(version), Object.fromEntries(counted.map(({ name, counters }) => [name, counters])))
    report(`Node ${majorOf(version)}`, counted)
  }
  writeRecorded(measured)
  console.log('written to bench/recorded-counters.json')
  return 0
}

async function pass(workplace) {
  const major = majorOf(process.versions.node)
  const recorded = readRecorded(major)
  const evaluate = ({ name, counters }) => evaluateCounters(counters, recorded[name])
  const exceedsRecorded = (one) => evaluate(one).some(({ kind }) => kind === 'over')
  const running = { node: process.execPath, name: major }
  const counted = await countAll(workplace, running, (one) => !exceedsRecorded(one))
  report(`Node ${major}`, counted)
  for (const one of counted) explain(one, evaluate(one))
  return counted.some(exceedsRecorded) ? 1 : 0
}

/** @param isEnough gets the measurements of an operation; if it returns false, the operation is measured again */
async function countAll({ directory, processes, afterwards }, { node, name }, isEnough) {
  const own = { directory: path.join(directory, name), processes }
  mkdirSync(own.directory)
  const databases = INSTANCES.flatMap((_, number) => [`authorization_${number}`, `files_${number}`])
  const stores = await createStores(databases, { ...own, environment: {}, isDurable: false })
  // It would write to the log at any time.
  await administer(stores.clusterUrl, 'alter system set autovacuum = off', 'select pg_reload_conf()')
  const counts = await countsOfStores(stores, afterwards)
  const counted = []
  for (const [number, { cacheSeconds, refreshes, operations }] of INSTANCES.entries()) {
    const instance = await startCounted({
      ...own,
      directory: path.join(own.directory, String(number)),
      counts,
      node,
      refreshes,
      databaseUrls: stores.databaseUrls.slice(number * 2, number * 2 + 2),
      redisUrl: stores.redisUrl,
      environment: { CODE_TTL: '29', INTROSPECTION_CACHE_TTL: cacheSeconds }
    })
    for (const { operation, name: title, count = countOperation } of operations) {
      let one
      let attempt = 0
      do {
        attempt++
        const { counters, sent } = await count(instance.operations[operation], instance).catch((error) => {
          // On a very busy machine a service may refuse a request.
          if (attempt === ATTEMPTS) throw error
          console.log(`${title}: measured again after an error: ${error.message.split('\n', 2).join(' ')}`)
          return {}
        })
        if (counters !== undefined) one = { name: title, sent, counters: least(counters, one?.counters) }
      } while (one === undefined || (attempt < ATTEMPTS && !isEnough(one)))
      counted.push(one)
    }
  }
  return counted
}

function least(counters, others = counters) {
  return Object.fromEntries(Object.keys(counters).map((name) => [name, Math.min(counters[name], others[name])]))
}

/** Counters of the stores. */
async function countsOfStores({ clusterUrl, redisUrl }, afterwards) {
  const redis = new Redis(redisUrl)
  const postgres = new pg.Client({ connectionString: clusterUrl })
  await postgres.connect()
  afterwards(async () => {
    redis.disconnect()
    await postgres.end()
  })
  let asked = 0
  return {
    async redisOwn() {
      const processed = /total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]
      asked++
      return Number(processed) - asked
    },
    async walPosition() {
      const { rows } = await postgres.query(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as position`)
      return Number(rows[0].position)
    }
  }
}

function report(title, counted) {
  for (const names of [COUNTERS, COUNTERS_OF_USES]) {
    const some = counted.filter(({ counters }) => names[0] in counters)
    const rows = some.map(({ name, counters }) => [name, ...names.map((counter) => counters[counter].toFixed(1))])
    console.log(`${title}\n${table(['', ...names], rows)}\n`)
  }
}

function explain({ name, sent }, evaluated) {
  for (const { counter, kind, recorded, most, measured } of evaluated) {
    const what = `${name}, ${counter}`
    if (kind === 'not_recorded') console.log(`not recorded: ${what} (Node ${process.versions.node})`)
    if (kind === 'under')
      console.log(`under: ${what}: recorded ${recorded}, measured ${measured.toFixed(1)}; record it`)
    if (kind !== 'over') continue
    console.log(`OVER: ${what}: recorded ${recorded}, at most ${most.toFixed(1)}, measured ${measured.toFixed(1)}`)
  }
  if (!evaluated.some(({ kind }) => kind === 'over')) return
  console.log(`  its requests sent: ${sent.map(({ name: what, count }) => `${count} × ${what}`).join(', ')}`)
}
