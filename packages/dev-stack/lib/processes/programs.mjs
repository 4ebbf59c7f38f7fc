// Builds commands whose process ends with the launcher, even if the launcher is killed.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const supervise = new URL('./supervise.mjs', import.meta.url).href
const guardian = fileURLToPath(new URL('./guardian.mjs', import.meta.url))

/**
 * `group`: signals go to the program and its children. `channel`: it stops when this IPC channel closes.
 * @typedef {{ command: string, args: string[], channel: boolean, group: boolean, stopSignal: NodeJS.Signals }} Program
 */

/**
 * A Node program: supervise.mjs stops it when the channel closes.
 * @param {string} file
 * @param {readonly string[]} [args]
 * @param {readonly string[]} [nodeOptions]
 * @returns {Program}
 */
export function nodeProgram(file, args = [], nodeOptions = []) {
  return {
    command: process.execPath,
    args: ['--import', supervise, ...nodeOptions, file, ...args],
    channel: true,
    group: true,
    stopSignal: 'SIGTERM'
  }
}

/**
 * Node options of a service, as in the images. By default, V8 frees memory of a process that was idle for some seconds,
 * including its compiled code, and the next requests cost up to twice as much. With these options it does not, and the heap
 * at most doubles at a time (docs/performance.md).
 */
export const SERVICE_OPTIONS = ['--no-memory-reducer', '--no-flush-bytecode', '--heap-growing-percent=100']

/**
 * One of the services.
 * @param {string} file
 * @param {readonly string[]} [nodeOptions]
 * @returns {Program}
 */
export function serviceProgram(file, nodeOptions = []) {
  return nodeProgram(file, [], [...SERVICE_OPTIONS, ...nodeOptions])
}

/**
 * A native program. With setpriv, the kernel ends it with its parent; otherwise a guardian process ends it. `prefix` is a
 * command that changes the user and then executes the program.
 * @param {{ prefix?: string[], command: string, args: string[], stopSignal: NodeJS.Signals }} options
 * @returns {Program}
 */
export function nativeProgram({ prefix = [], command, args: programArgs, stopSignal }) {
  if (kernelEndsChildren()) {
    // setpriv comes after the prefix, because a change of user would clear the parent death signal.
    const [first = command, ...rest] = [...prefix, ...deathSignal(stopSignal), command, ...programArgs]
    return { command: first, args: rest, channel: false, group: false, stopSignal }
  }
  const args = [guardian, stopSignal, ...prefix, command, ...programArgs]
  return { command: process.execPath, args, channel: true, group: false, stopSignal: 'SIGTERM' }
}

/** @param {NodeJS.Signals} signal */
const deathSignal = (signal) => ['setpriv', '--pdeathsig', signal.replace(/^SIG/, ''), '--']

/** @type {boolean | undefined} */
let kernelKnown
function kernelEndsChildren() {
  kernelKnown ??= process.platform === 'linux' && succeeds([...deathSignal('SIGTERM'), 'true'])
  return kernelKnown
}

/**
 * Whether a command runs and exits with 0.
 * @param {readonly string[]} command
 */
export function succeeds([command = '', ...args]) {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 5_000 }).status === 0
}

/**
 * The full path of the first of these programs found on PATH.
 * @param {readonly string[]} names
 * @param {string} [searchPath]
 */
export function findOnPath(names, searchPath = process.env.PATH ?? '') {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '')
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isProgram)
}

/** @param {string} file */
export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
