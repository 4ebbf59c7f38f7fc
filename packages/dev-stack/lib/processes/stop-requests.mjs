// All ways to stop the launcher without killing it.

import { commandOf, parentOf } from './process-table.mjs'

// npm forwards the Ctrl-C that the terminal has already sent to the launcher. The forwarded signal is not a second request.
const ECHO_MS = 1_000
const PARENT_CHECK_MS = 250

/**
 * Calls `onStop` at the first request and `onForce` at a second one.
 * @param {{ onStop(reason: string): void, onForce(): void }} handlers
 */
export function onStopRequest({ onStop, onForce }) {
  /** @type {number | undefined} */
  let first
  /** @param {string} reason */
  const request = (reason) => {
    if (first === undefined) {
      first = Date.now()
      onStop(reason)
    } else if (Date.now() - first > ECHO_MS) {
      onForce()
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => request(signal))
  // After the terminal was closed, writes to it fail. That must not disturb an orderly stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  if (process.env.npm_lifecycle_event !== undefined)
    watchParent(() => {
      if (first === undefined) request('npm ended')
    })
}

/**
 * If npm is killed, its child gets no signal, but its parent process changes.
 * @param {() => void} onGone
 */
function watchParent(onGone) {
  const parent = process.ppid
  // npm starts a shell, which starts this process. Some shells replace themselves by the program; then the parent is npm.
  const throughShell = /^\S*sh -c /.test(commandOf(parent))
  const grandparent = throughShell ? parentOf(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && (!throughShell || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    onGone()
  }, PARENT_CHECK_MS)
  timer.unref()
}
