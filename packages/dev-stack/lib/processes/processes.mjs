// The processes the launcher runs. They are stopped in two steps, each of them side by side: first what uses the stores, then
// the stores. Every wait has an end, so that a stop takes 20 seconds at most.
import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync } from 'node:fs'

/** How long a process may take to stop, and then to end once it is killed. */
const LIMITS_MS = { program: 10_000, store: 6_000, kill: 2_000 }

/** Thrown by a start or a run that comes after the order to stop. */
export class Stopping extends Error {}

/**
 * @param {{ limits?: { program: number, store: number, kill: number }, say?: (line: string) => void }} options limits in
 * milliseconds; `say` gets a line for each process that did not stop by itself
 */
export function createProcesses({ limits = LIMITS_MS, say = console.error } = {}) {
  const running = new Set()
  let stopping = false

  /** Registered first, so that nothing can slip through between the spawn and the order to stop. */
  function launch(name, program, options) {
    if (stopping) throw new Stopping('stopping')
    const child = spawn(program.command, program.args, {
      ...options,
      // Their own session: the terminal's Ctrl-C is for the launcher, which stops them in the right order.
      detached: true,
      stdio: program.channel ? [...options.stdio, 'ipc'] : options.stdio
    })
    const exited = new Promise((resolve) => {
      child.once('error', (error) => resolve({ code: 127, signal: null, error }))
      child.once('exit', (code, signal) => resolve({ code, signal, error: undefined }))
    })
    const handle = { name, child, exited, group: program.group, ordered: false, isStore: false }
    handle.stop = () => stop(handle, program.stopSignal)
    running.add(handle)
    exited.then(() => running.delete(handle))
    return handle
  }

  /** Starts a program that goes on running; everything it says goes to its log file. Stores are stopped last. */
  function start({ name, program, environment, logFile, input, restartable = false, isStore = false }) {
    const log = openSync(logFile, 'a', 0o600)
    const logStart = fstatSync(log).size
    try {
      const stdio = [input === undefined ? 'ignore' : 'pipe', log, log]
      const handle = launch(name, program, { env: environment, stdio })
      feed(handle.child, input)
      return Object.assign(handle, { logFile, logStart, restartable, isStore })
    } finally {
      closeSync(log)
    }
  }

  /** Runs a program to its end and hands back what it said. */
  async function run({ name, program, environment, input }) {
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']
    const handle = launch(name, program, { env: environment, stdio })
    const said = Promise.all([collect(handle.child.stdout), collect(handle.child.stderr)])
    feed(handle.child, input)
    const [ended, [stdout, stderr]] = await Promise.all([handle.exited, said])
    if (stopping) throw new Stopping('stopping')
    return { ...ended, stdout, stderr: ended.error === undefined ? stderr : `${ended.error.message}\n` }
  }

  /** Runs a program to its end on the launcher's own terminal. */
  function show({ name, program, environment, directory }) {
    return launch(name, program, { cwd: directory, env: environment, stdio: ['ignore', 'inherit', 'inherit'] })
  }

  async function stopAll() {
    stopping = true
    const all = [...running]
    await Promise.all(all.filter(({ isStore }) => !isStore).map((handle) => handle.stop()))
    await Promise.all(all.filter(({ isStore }) => isStore).map((handle) => handle.stop()))
  }

  function killAll() {
    stopping = true
    for (const handle of running) signal(handle, 'SIGKILL')
  }

  async function stop(handle, stopSignal) {
    handle.ordered = true
    signal(handle, stopSignal)
    const limit = handle.isStore ? limits.store : limits.program
    if (await endsWithin(limit, handle)) return
    say(`The ${handle.name} did not stop within ${limit / 1000} seconds; killing it.`)
    signal(handle, 'SIGKILL')
    // A process that waits for a device does not end even then.
    if (!(await endsWithin(limits.kill, handle)))
      say(`The ${handle.name} (process ${handle.child.pid}) cannot be killed.`)
  }

  return { start, run, show, stopAll, killAll, isStopping: () => stopping }
}

async function endsWithin(milliseconds, { exited }) {
  let timer
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds, false)
  })
  const ended = await Promise.race([exited.then(() => true), limit])
  clearTimeout(timer)
  return ended
}

function signal({ child, group }, name) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(group ? -child.pid : child.pid, name)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function feed(child, input) {
  if (input === undefined) return
  // A program that ends without reading its input is judged by its exit code.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
}

async function collect(stream) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}
