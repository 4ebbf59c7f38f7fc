import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { residentMegabytes } from '../../packages/dev-stack/lib/processes/resident-megabytes.mjs'

const TIME_LIMIT_MS = 20_000
// Background work of the start has ended by then.
const IDLE_MS = 2_000

/** Resolves when a URL responds with success. If the process ends before, the error contains the end of its log. */
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

/** Starts a process only to measure the time until it is ready, and its memory without requests. */
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
