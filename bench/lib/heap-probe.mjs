// Preloaded into a measured service (`node --expose-gc --import`). Reports the size of V8's heap over the launcher's channel.
// Without a garbage collection the heap grows by exactly the allocated bytes, so it also reports the number of collections.
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

let collections = 0
new PerformanceObserver((list) => {
  collections += list.getEntries().length
}).observe({ entryTypes: ['gc'] })

process.on('message', (order) => {
  if (order === 'collect') globalThis.gc({ type: 'minor' })
  // Observers are notified of a collection some turns of the event loop later.
  afterTurns(5, () => process.send({ bytes: getHeapStatistics().used_heap_size, collections }))
})
// The channel must not keep a stopping service running.
process.channel.unref()

function afterTurns(turns, run) {
  if (turns === 0) run()
  else setImmediate(() => afterTurns(turns - 1, run))
}
