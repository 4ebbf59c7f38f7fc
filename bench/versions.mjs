// npm run bench:versions -- OTHER_CHECKOUT...: processor time of each step in other checkouts of this repository (built, with
// their own dependencies) beside this one, in interleaved rounds on the running Node. All servers start several times, because
// the cost of a request differs by up to a tenth between two processes of the same code. Prints ratios of this checkout to each
// other one, and writes nothing. Exits with 1 if a step costs more than the gate. README.md lists the settings. Linux only.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
import { createProcesses } from '../packages/dev-stack/lib/processes/processes.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { table } from './lib/figures.mjs'
import { measure } from './lib/measure.mjs'
import { inRoundsOfSteps } from './lib/rounds.mjs'
import { median } from './lib/statistics.mjs'
import { storeProcesses } from './lib/store-processes.mjs'
import { createStores } from './lib/stores.mjs'
import { quartileRatio, ratiosOf } from './lib/verdicts.mjs'
import { stepsOf } from './lib/whole-flow.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 24)
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 1_000)
const STARTS = Number(process.env.BENCH_STARTS ?? Math.min(3, ROUNDS))
const ROUNDS_TO_WARM_UP = 4
// See compare.mjs.
const REST_MS = 300
const GATE = 1.03
const OWN = 'this checkout'
const STEPS = (process.env.BENCH_STEPS ?? 'authorize,exchange,introspect,files,cached files').split(',')
const DATABASES = ['authorization', 'files', 'authorization_cached', 'files_cached']

const others = process.argv.slice(2)
if (others.length === 0) {
  console.error('Name at least one built checkout: npm run bench:versions -- ../before')
  process.exit(2)
}

await inWorkplace(async ({ directory, afterwards }) => {
  moveToOtherCore()
  const versions = [{ name: OWN, folder: checkout }]
  for (const folder of others) versions.push({ name: folder, folder: path.resolve(folder) })
  const names = versions.flatMap((_, number) => DATABASES.map((name) => `${name}_${number}`))
  const figures = new Map(versions.map(({ name }) => [name, []]))
  for (let start = 1; start <= STARTS; start++) {
    const own = path.join(directory, `start-${start}`)
    mkdirSync(own)
    const running = createProcesses()
    afterwards(running.stopAll)
    const stores = await createStores(names, { directory: own, processes: running, environment: process.env })
    const measured = await measureOnce(versions, { stores, directory: own, processes: running })
    for (const [name, rounds] of measured) figures.get(name).push(...rounds)
    await running.stopAll()
    await stores.drop()
  }
  return report(figures)
})

async function measureOnce(versions, place) {
  const contenders = []
  for (const [number, version] of versions.entries()) contenders.push(await start(version, number, place))
  const stores = await storeProcesses(place.stores)
  const run = (restMs) => (contender, step) => {
    const target = step === 'cached files' ? contender.cached : contender.plain
    return measure({ pids: target.pids, stores, count: REQUESTS, send: contender.send[step], restMs })
  }
  await inRoundsOfSteps({ contenders, steps: STEPS, rounds: Math.min(ROUNDS_TO_WARM_UP, ROUNDS) }, run(0))
  return inRoundsOfSteps({ contenders, steps: STEPS, rounds: Math.ceil(ROUNDS / STARTS) }, run(REST_MS))
}

/** Starts the services of a checkout by its own programs: once without the cache, and once with it. */
async function start({ name, folder }, number, { stores, directory, processes }) {
  const { startValetkey } = await import(pathToFileURL(path.join(folder, 'bench/lib/valetkey.mjs')).href)
  const urls = stores.databaseUrls.slice(number * DATABASES.length, (number + 1) * DATABASES.length)
  const settings = (own, databaseUrls, cacheSeconds) => ({
    databaseUrls,
    redisUrl: stores.redisUrl,
    directory: path.join(directory, own),
    processes,
    environment: { CODE_TTL: '29', ...process.env, INTROSPECTION_CACHE_TTL: cacheSeconds }
  })
  const plain = await startValetkey(settings(`${number}`, urls.slice(0, 2), '0'))
  const cached = await startValetkey(settings(`${number}-cached`, urls.slice(2), '60'))
  const [send, { files }] = [await stepsOf(plain), await stepsOf(cached)]
  return { name, steps: STEPS, plain, cached, send: { ...send, 'cached files': files } }
}

function report(figures) {
  const rows = []
  let exceedsGate = false
  for (const to of others) {
    for (const operation of STEPS) {
      const asked = { operation, of: OWN, to }
      const server = median(ratiosOf(figures, asked))
      const total = median(ratiosOf(figures, { ...asked, what: 'total' }))
      if (server > GATE) exceedsGate = true
      rows.push([to, operation, ...[server, quartileRatio(figures, asked), total].map((ratio) => ratio.toFixed(3))])
    }
  }
  const method = `${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${STARTS} starts, Node ${process.version}`
  console.log(`${method}; this checkout divided by:
`)
  console.log(table(['checkout', 'step', 'server, paired median', 'server, quartiles', 'total, paired median'], rows))
  console.log(exceedsGate ? `\nover the gate of ${GATE}` : `\nwithin the gate of ${GATE}`)
  return exceedsGate ? 1 : 0
}
