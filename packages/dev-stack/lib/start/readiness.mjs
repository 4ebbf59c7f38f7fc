// Waits for a server to respond, until it ends or a time limit passes.
import { displayPath } from '../checkout.mjs'
import { lastLines } from '../processes/logs.mjs'

/** @import { End, Handle } from '../processes/processes.mjs' */

const TIME_LIMIT_MS = 120_000
const INTERVAL_MS = 100

/**
 * Waits until `url` responds with 200.
 * @param {Handle} handle
 * @param {string} url
 */
export async function waitUntilReady(handle, url) {
  /** @type {End | undefined} */
  let ended
  handle.exited.then((result) => {
    ended = result
  })
  const deadline = Date.now() + TIME_LIMIT_MS
  /** @type {string | number} */
  let last = 'no response'
  while (ended === undefined && Date.now() < deadline) {
    last = await statusOf(url)
    if (last === 200) return
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))
  }
  if (ended !== undefined) throw new Error(describeEnd(handle, ended))
  throw new Error(
    `The ${handle.name} is not ready after ${TIME_LIMIT_MS / 1000} seconds (${url}: ${last}).\n${logOf(handle)}`
  )
}

/** @param {string} url */
async function statusOf(url) {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(5_000) })
    // The health response names the unavailable store.
    const text = await response.text()
    return response.status === 200 ? 200 : `${response.status} ${text.slice(0, 200)}`.trim()
  } catch {
    return 'no response'
  }
}

/**
 * A message with the process that ended, its exit code or signal, and its last log lines.
 * @param {Handle} handle
 * @param {End} end
 */
export function describeEnd(handle, { code, signal, error }) {
  return `The ${handle.name} stopped unexpectedly (${error?.message ?? signal ?? `exit code ${code}`}).\n${logOf(handle)}`
}

/** @param {Handle} handle */
const logOf = (handle) => `Last lines of ${displayPath(handle.logFile)}:\n${lastLines(handle)}`
