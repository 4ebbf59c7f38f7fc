// Runs random schedules of authorizations, exchanges, refreshes, endings and faults on two authorization servers with real stores,
// and checks that each history is one that the model in e2e/core-model/model.mjs allows (linearisability). Needs redis-server.
// Not run by npm test. node e2e/core-model.mjs --help
import { explore, SETTINGS } from './core-model/explore.mjs'
import { readModelOptions } from './core-model/options.mjs'
import { createWorld } from './core-model/world.mjs'
import { runOnCluster } from './system/run-on-cluster.mjs'

const { minutes, ...exploration } = readModelOptions(process.argv.slice(2))

await runOnCluster({ minutes, logLevel: 'fatal', settings: SETTINGS }, async (cluster) => {
  const world = await createWorld(cluster)
  const began = performance.now()
  const { counts, failure } = await explore(world, exploration)
  const seconds = (performance.now() - began) / 1_000
  await world.stop()
  const faults = Object.entries(counts.faults).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    `${counts.operations} operations in ${counts.cells} cells, seeds from ${exploration.seed}, in ${seconds.toFixed(0)} s (the checks ${(counts.checkMs / 1_000).toFixed(1)} s)`,
    `faults of the batches: ${faults.join(', ')}; histories that were not decided: ${counts.undecided}`
  ]
  if (failure === undefined) return [0, [...lines, 'Every history is allowed.']]
  const { seed, found, batch } = failure
  const schedule = batch && JSON.stringify(batch, undefined, 1)
  return [
    1,
    [
      ...lines,
      `The batch of seed ${seed} failed. Shrunk:`,
      `${schedule}`,
      found,
      `Replay: --seed ${seed} --operations 1`
    ]
  ]
})
