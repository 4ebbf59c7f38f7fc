// The processes that the launcher runs. They are stopped in two steps: first all that use the stores, then the stores. Every
// wait has a limit, so that a stop takes at most 20 seconds.
import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { codeOf } from '../error-code.mjs'

/** @import { ChildProcess, SpawnOptions } from 'node:child_process' */
/** @import { Program } from './programs.mjs' */
/** @typedef {{ program: number, store: number, kill: number }} Limits */
/** @typedef {{ code: number | null, signal: NodeJS.Signals | null, error: Error | undefined }} End */
/**
 * @typedef {{ name: string, child: ChildProcess, exited: Promise<End>, group: boolean, ordered: boolean, isStore: boolean,
 *   stop(): Promise<void> }} Launched `ordered`: its stop was requested; `isStore`: it is stopped last
 */
/** @typedef {'ignore' | 'pipe' | 'inherit' | 'ipc' | number} Stdio */
/** @typedef {Omit<SpawnOptions, 'stdio'> & { stdio: Stdio[] }} LaunchOptions */
/** @typedef {{ name: string, program: Program, environment: NodeJS.ProcessEnv, input?: string | undefined,
 *   directory?: string }} RunOptions */
/** @typedef {RunOptions & { logFile: string, restartable?: boolean, isStore?: boolean }} StartOptions */
/** @typedef {ReturnType<typeof createProcesses>} Processes */
/** @typedef {ReturnType<Processes['start']>} Handle a long-running process */

/** Time limits for a process to stop, and to end after SIGKILL. */
const LIMITS_MS = { program: 10_000, store: 6_000, kill: 2_000 }

/** Thrown by a start or a run after `stopAll` or `killAll`. */
class Stopping extends Error {}

/**
 * @param {{ limits?: Limits, report?: (line: string) => void }} options limits in milliseconds; `report` gets a line for each
 *   process that did not stop by itself
 */
export function createProcesses({ limits = LIMITS_MS, report = console.error } = {}) {
  /** @type {Set<Launched>} */
  const running = new Set()
  let stopping = false

  // Registers the process synchronously, so that `stopAll` cannot miss it.
  /** @type {(name: string, program: Program, options: LaunchOptions) => Launched} */
  function launch(name, program, options) {
    if (stopping) throw new Stopping('stopping')
    const child = spawn(program.command, program.args, {
      ...options,
      // Own session, so that only the launcher receives Ctrl-C from the terminal, and stops all processes in the right order.
      detached: true,
      stdio: program.channel ? [...options.stdio, 'ipc'] : options.stdio
    })
    const exited = endOf(child)
    /** @type {Launched} */
    const handle = {
      name,
      child,
      exited,
      group: program.group,
      ordered: false,
      isStore: false,
      stop: () => stop(handle, { stopSignal: program.stopSignal, limits, report })
    }
    running.add(handle)
    exited.then(() => running.delete(handle))
    return handle
  }

  /** Starts a long-running program, with its output in a log file. Stores are stopped last. @param {StartOptions} options */
  function start({ name, program, environment, logFile, input, restartable = false, isStore = false }) {
    const log = openSync(logFile, 'a', 0o600)
    const logStart = fstatSync(log).size
    try {
      const handle = launch(name, program, { env: environment, stdio: [stdin(input), log, log] })
      feed(handle.child, input)
      return Object.assign(handle, { logFile, logStart, restartable, isStore })
    } finally {
      closeSync(log)
    }
  }

  /** Runs a program to its end and returns its output. @param {RunOptions} options */
  async function run({ name, program, environment, input, directory }) {
    const handle = launch(name, program, {
      ...(directory !== undefined && { cwd: directory }),
      env: environment,
      stdio: [stdin(input), 'pipe', 'pipe']
    })
    const output = Promise.all([collect(handle.child.stdout), collect(handle.child.stderr)])
    feed(handle.child, input)
    const [ended, [stdout, stderr]] = await Promise.all([handle.exited, output])
    if (stopping) throw new Stopping('stopping')
    return { ...ended, stdout, stderr: ended.error === undefined ? stderr : `${ended.error.message}\n` }
  }

  /** Runs a program to its end, with its output on the launcher's terminal. @param {RunOptions & { directory: string }} options */
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

  return { start, run, show, stopAll, killAll, isStopping: () => stopping }
}

/** @param {ChildProcess} child @returns {Promise<End>} */
function endOf(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, signal: null, error }))
    child.once('exit', (code, signal) => resolve({ code, signal, error: undefined }))
  })
}

/** @param {string | undefined} input */
const stdin = (input) => (input === undefined ? 'ignore' : 'pipe')

/**
 * @param {Launched} handle
 * @param {{ stopSignal: NodeJS.Signals, limits: Limits, report(line: string): void }} options
 */
async function stop(handle, { stopSignal, limits, report }) {
  handle.ordered = true
  signal(handle, stopSignal)
  const limit = handle.isStore ? limits.store : limits.program
  if (await endsWithin(limit, handle)) return
  report(`The ${handle.name} did not stop within ${limit / 1000} seconds; killing it.`)
  signal(handle, 'SIGKILL')
  // A process that waits for a device does not end even after SIGKILL.
  if (!(await endsWithin(limits.kill, handle)))
    report(`The ${handle.name} (process ${handle.child.pid}) cannot be killed.`)
}

/**
 * @param {number} milliseconds
 * @param {Launched} handle
 */
async function endsWithin(milliseconds, { exited }) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Promise<boolean>} */
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds, false)
  })
  const ended = await Promise.race([exited.then(() => true), limit])
  clearTimeout(timer)
  return ended
}

/**
 * @param {Launched} handle
 * @param {NodeJS.Signals} name
 */
function signal({ child, group }, name) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(group ? -child.pid : child.pid, name)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/**
 * @param {ChildProcess} child
 * @param {string | undefined} input
 */
function feed(child, input) {
  if (input === undefined) return
  // A program may end without reading its input; then its exit code decides.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
}

/** @param {import('node:stream').Readable | null} stream */
async function collect(stream) {
  let text = ''
  for await (const chunk of stream?.setEncoding('utf8') ?? []) text += chunk
  return text
}
