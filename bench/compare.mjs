// npm run bench: processor time of each step of the flow, compared with minimal programs that do the same (floor/) and with
// servers from npm (peers/), on the Node of the images and on the running Node. Prints the figures and writes them with a
// chart to docs/performance.md. Exits with 1 if a goal is missed. README.md lists the settings. Linux only.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { createProcesses } from '../packages/dev-stack/lib/processes/processes.mjs'
import { publish, withTogether } from './compare-report.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { describeRun } from './lib/machine.mjs'
import { measure } from './lib/measure.mjs'
import { findNode, majorOf, OF_IMAGES } from './lib/nodes.mjs'
import { rivals, startRival } from './lib/rivals.mjs'
import { inRoundsOfSteps } from './lib/rounds.mjs'
import { storeProcesses } from './lib/store-processes.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { stepsOf } from './lib/whole-flow.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 24)
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 1_000)
// Warm-up requests: code is cheaper after V8 compiled it.
const ROUNDS_TO_WARM_UP = Math.min(4, ROUNDS)
// This is longer than the delay of an audit batch, so that its cost is added to the step that caused it.
const REST_MS = 300
const STEPS = ['authorize', 'exchange', 'introspect', 'files', 'flow']

await inWorkplace(async ({ directory, afterwards }) => {
  moveToOtherCore()
  const running = process.versions.node
  const versions = majorOf(running) === majorOf(OF_IMAGES) ? [running] : [OF_IMAGES, running]
  const results = []
  for (const version of versions) {
    const processes = createProcesses()
    afterwards(processes.stopAll)
    const own = path.join(directory, version)
    mkdirSync(own)
    results.push({ version, ...(await compareOn(version, { directory: own, processes, afterwards })) })
    await processes.stopAll()
  }
  return publish(results, { rounds: ROUNDS, requests: REQUESTS })
})

async function compareOn(version, { directory, processes, afterwards }) {
  const node = findNode(version)
  const names = Object.keys(rivals)
  const ours = ['authorization', 'files', 'authorization_cached', 'files_cached']
  const databases = [...ours, ...names.map((_, number) => `rival_${number}`)]
  const stores = await createStores(databases, { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const { redisUrl, databaseUrls } = stores
  const contenders = []
  for (const [number, name] of names.entries()) {
    const own = { databaseUrl: databaseUrls[ours.length + number], directory: path.join(directory, `rival-${number}`) }
    await contend(name, await startRival(name, { ...own, redisUrl, processes, node }), STEPS)
  }
  await contend('valetkey', await valetkey('valetkey', databaseUrls.slice(0, 2), '0'), STEPS)
  await contend('valetkey, cache', await valetkey('cached', databaseUrls.slice(2, 4), '60'), ['files'])

  const pids = await storeProcesses(stores)
  await inRoundsOfSteps({ contenders, steps: STEPS, rounds: ROUNDS_TO_WARM_UP }, (...what) => run(...what, 0))
  const figures = await inRoundsOfSteps({ contenders, steps: STEPS, rounds: ROUNDS }, (...what) =>
    run(...what, REST_MS)
  )
  return { figures: withTogether(figures), machine: await describeRun(stores, version) }

  function run({ name, target, send }, step, restMs) {
    // The whole flow is three requests.
    const count = step === 'flow' ? REQUESTS >> 1 : REQUESTS
    return measure({ pids: target.pids, stores: pids, count, send: send[step], restMs }).catch((cause) => {
      throw new Error(`${name}, ${step}: ${cause.message}`, { cause })
    })
  }

  async function contend(name, target, steps) {
    contenders.push({ name, steps, target, send: await stepsOf(target) })
  }

  function valetkey(name, urls, cacheSeconds) {
    const environment = { CODE_TTL: '29', ...process.env, INTROSPECTION_CACHE_TTL: cacheSeconds }
    return startValetkey({
      databaseUrls: urls,
      redisUrl,
      directory: path.join(directory, name),
      processes,
      environment,
      node
    })
  }
}
