import { once } from 'node:events'

/**
 * Node options of a service whose allocations are counted: enough memory between two forced collections that V8 does not
 * start a collection by itself.
 */
export const COUNTED_HEAP = [
  '--expose-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--import',
  new URL('heap-probe.mjs', import.meta.url).href
]

/** @param order `collect` first collects garbage of the young generation @returns the sums of the values of heap-probe.mjs */
export async function heapOf(children, order = 'look') {
  const heaps = await Promise.all(
    children.map(async (child) => {
      const answer = once(child, 'message')
      child.send(order)
      return (await answer)[0]
    })
  )
  const sum = (what) => heaps.reduce((total, heap) => total + heap[what], 0)
  return { bytes: sum('bytes'), collections: sum('collections') }
}
