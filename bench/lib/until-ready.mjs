import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

/** Resolves when an address answers well; tells the end of the log of a process that ends before. */
export async function untilReady(url, { name, logFile, exited }) {
  let ended = false
  exited.then(() => {
    ended = true
  })
  for (let attempt = 0; attempt < 200 && !ended; attempt++) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await wait(100)
  }
  throw new Error(`${name} was not ready in time: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
}
