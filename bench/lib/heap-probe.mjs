// Preloaded into a measured service (`node --expose-gc --import`): says over the launcher's channel how full V8's heap is.
// The heap grows by exactly what is allocated, as long as nothing is collected; so it also says how often that happened.
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

let collections = 0
new PerformanceObserver((list) => {
  collections += list.getEntries().length
}).observe({ entryTypes: ['gc'] })

process.on('message', (order) => {
  if (order === 'collect') globalThis.gc({ type: 'minor' })
  // Observers are told of a collection some turns of the event loop later.
  afterTurns(5, () => process.send({ bytes: getHeapStatistics().used_heap_size, collections }))
})
// The channel must not keep a service alive that was told to stop.
process.channel.unref()

function afterTurns(turns, run) {
  if (turns === 0) run()
  else setImmediate(() => afterTurns(turns - 1, run))
}
