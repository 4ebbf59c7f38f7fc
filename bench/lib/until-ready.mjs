import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { residentMegabytes } from './resident-megabytes.mjs'

const TIME_LIMIT_MS = 20_000
// What a start leaves behind in the background has ended by then.
const IDLE_MS = 2_000

/** Resolves when an address answers well; tells the end of the log of a process that ends before. */
export async function untilReady(url, { name, logFile, exited }, { everyMs = 100 } = {}) {
  let ended = false
  exited.then(() => {
    ended = true
  })
  const deadline = performance.now() + TIME_LIMIT_MS
  while (!ended && performance.now() < deadline) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await wait(everyMs)
  }
  throw new Error(`${name} was not ready in time: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
}

/** Starts a process only to see how long it takes until it is ready, and how much memory it has without requests. */
export async function tryStart({ launch, url }) {
  const begun = performance.now()
  const handle = launch()
  try {
    await untilReady(url, handle, { everyMs: 5 })
    const milliseconds = performance.now() - begun
    await wait(IDLE_MS)
    return { milliseconds, megabytes: residentMegabytes(handle.child.pid) }
  } finally {
    await handle.stop()
  }
}
