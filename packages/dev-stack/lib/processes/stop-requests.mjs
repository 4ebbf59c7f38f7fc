// Every way to stop the launcher without killing it.

import { commandOf, parentOf } from './process-table.mjs'

// npm passes on the Ctrl-C that the terminal has sent to the launcher already: the echo is not a second one.
const ECHO_MS = 1_000
const PARENT_CHECK_MS = 250

/** Calls `onStop` at the first request and `onForce` at a second one. */
export function onStopRequest({ onStop, onForce }) {
  let first
  const request = (reason) => {
    if (first === undefined) {
      first = Date.now()
      onStop(reason)
    } else if (Date.now() - first > ECHO_MS) {
      onForce()
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => request(signal))
  // With the terminal gone, writing to it fails; that must not get in the way of an orderly stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  if (process.env.npm_lifecycle_event !== undefined) watchParent(() => first === undefined && request('npm ended'))
}

/** A process gets no signal when its npm is killed, but its parent changes. */
function watchParent(onGone) {
  const parent = process.ppid
  // npm starts a shell, which starts us. Some shells step aside for the program; then our parent is npm itself.
  const throughShell = /^\S*sh -c /.test(commandOf(parent))
  const grandparent = throughShell ? parentOf(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && (!throughShell || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    onGone()
  }, PARENT_CHECK_MS)
  timer.unref()
}
