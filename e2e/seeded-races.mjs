// Shows which mistakes core-model.mjs finds: removes one condition of the authorization server at a time, and runs the schedules
// until the model forbids a history. Needs redis-server. Not run by npm test. node e2e/seeded-races.mjs --help
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { explore, SETTINGS } from './core-model/explore.mjs'
import { SEEDED_RACES } from './core-model/seeded-races.mjs'
import { createWorld } from './core-model/world.mjs'
import { runOnCluster } from './system/run-on-cluster.mjs'

const MINUTES = 120
const SIZE = { cells: 24, steps: 20, shrinkSeconds: 0 }

const HELP = `node e2e/seeded-races.mjs [options]

  --race NAME      only this one (repeatable): ${SEEDED_RACES.map(({ name }) => name).join(', ')}
  --operations N   of each (default 10000, as in .ci/run)
  --seed N         (default: random)
  --explain        also prints the history that the model forbids
  --help           this text

Exit code 0: all were found. 1: some were not.`

const text = /** @type {const} */ ({ type: 'string' })
const { values } = parseArgs({
  options: {
    race: { ...text, multiple: true },
    operations: text,
    seed: text,
    explain: { type: 'boolean' },
    help: { type: 'boolean' }
  }
})
if (values.help) {
  console.log(HELP)
  process.exit(0)
}
const names = values.race ?? SEEDED_RACES.map(({ name }) => name)
const unknown = names.find((name) => !SEEDED_RACES.some((race) => race.name === name))
if (unknown !== undefined) throw new Error(`there is no seeded race "${unknown}"`)
const operations = Number(values.operations ?? 10_000)
const firstSeed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000))
const hooks = new URL('./core-model/seed-race.mjs', import.meta.url)

await runOnCluster({ minutes: MINUTES, logLevel: 'fatal', settings: SETTINGS }, async (cluster) => {
  const world = await createWorld(cluster)
  const lines = []
  let found = 0
  for (const name of names) {
    await seed(cluster, name)
    const { counts, failure } = await explore(world, { ...SIZE, operations, seed: firstSeed })
    if (failure) found += 1
    lines.push(`${name}: ${failure ? 'found' : 'not found'} after ${counts.operations} operations`)
    console.log(lines.at(-1))
    if (failure && values.explain) console.log(failure.found)
  }
  await world.stop()
  lines.push(`${found} of ${names.length} found within ${operations} operations each, seed ${firstSeed}`)
  return [found === names.length ? 0 : 1, lines]
})

/**
 * Starts both servers without a condition.
 * @param {import('./system/start-cluster.mjs').Cluster} cluster
 * @param {string} name
 */
async function seed({ authorizationServers: servers }, name) {
  await Promise.all(servers.map((server) => server.crash({ SEEDED_RACE: name, NODE_OPTIONS: `--import ${hooks}` })))
  const isSeeded = servers.every(({ logFile }) => readFileSync(logFile, 'utf8').includes(`seeded race: ${name}`))
  if (!isSeeded)
    throw new Error(`a server has not loaded the module of "${name}": adapt e2e/core-model/seeded-races.mjs`)
}
