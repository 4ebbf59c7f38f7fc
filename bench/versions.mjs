// npm run bench:versions -- OTHER_CHECKOUT...: processor time of each step in other checkouts of this repository (built, with
// their own dependencies) beside this one, in interleaved rounds on the running Node. Prints ratios of this checkout to each
// other one, and writes nothing. Exits with 1 if a step costs more than the gate. README.md lists the settings. Linux only.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
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
const ROUNDS_TO_WARM_UP = Math.min(4, ROUNDS)
// See compare.mjs.
const REST_MS = 300
const GATE = 1.03
const OWN = 'this checkout'
const STEPS = ['authorize', 'exchange', 'introspect', 'files', 'cached files']

const others = process.argv.slice(2)
if (others.length === 0) {
  console.error('Name at least one built checkout: npm run bench:versions -- ../before')
  process.exit(2)
}

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const versions = [{ name: OWN, folder: checkout }]
  for (const folder of others) versions.push({ name: folder, folder: path.resolve(folder) })
  const databases = versions.flatMap((_, number) =>
    ['authorization', 'files', 'authorization_cached', 'files_cached'].map((name) => `${name}_${number}`)
  )
  const stores = await createStores(databases, { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const contenders = []
  for (const [number, version] of versions.entries()) contenders.push(await start(version, number))
  const pids = await storeProcesses(stores)
  await inRoundsOfSteps({ contenders, steps: STEPS, rounds: ROUNDS_TO_WARM_UP }, (...what) => run(...what, 0))
  return report(await inRoundsOfSteps({ contenders, steps: STEPS, rounds: ROUNDS }, (...what) => run(...what, REST_MS)))

  /** Starts the services of a checkout by its own programs: once without the cache, and once with it. */
  async function start({ name, folder }, number) {
    const { startValetkey } = await import(pathToFileURL(path.join(folder, 'bench/lib/valetkey.mjs')).href)
    const urls = stores.databaseUrls.slice(number * 4, number * 4 + 4)
    const [plain, cached] = [
      await startValetkey(settings(`${number}`, urls.slice(0, 2), '0')),
      await startValetkey(settings(`${number}-cached`, urls.slice(2), '60'))
    ]
    const [send, { files }] = [await stepsOf(plain), await stepsOf(cached)]
    return { name, steps: STEPS, plain, cached, send: { ...send, 'cached files': files } }
  }

  function settings(name, databaseUrls, cacheSeconds) {
    const environment = { CODE_TTL: '29', ...process.env, INTROSPECTION_CACHE_TTL: cacheSeconds }
    const { redisUrl } = stores
    return { databaseUrls, redisUrl, directory: path.join(directory, name), processes, environment }
  }

  function run({ plain, cached, send }, step, restMs) {
    const target = step === 'cached files' ? cached : plain
    return measure({ pids: target.pids, stores: pids, count: REQUESTS, send: send[step], restMs })
  }
})

function report(figures) {
  const rows = []
  let isOver = false
  for (const to of others) {
    for (const operation of STEPS) {
      const asked = { operation, of: OWN, to }
      const server = median(ratiosOf(figures, asked))
      const total = median(ratiosOf(figures, { ...asked, what: 'total' }))
      if (server > GATE) isOver = true
      rows.push([to, operation, ...[server, quartileRatio(figures, asked), total].map((ratio) => ratio.toFixed(3))])
    }
  }
  console.log(
    `${ROUNDS} interleaved rounds of ${REQUESTS} requests, Node ${process.version}; this checkout divided by:\n`
  )
  console.log(table(['checkout', 'step', 'server, paired median', 'server, quartiles', 'total, paired median'], rows))
  console.log(isOver ? `\nover the gate of ${GATE}` : `\nwithin the gate of ${GATE}`)
  return isOver ? 1 : 0
}
