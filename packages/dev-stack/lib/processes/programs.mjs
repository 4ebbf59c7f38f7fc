// How a program is run so that it ends with the launcher, however the launcher ends.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const supervise = new URL('./supervise.mjs', import.meta.url).href
const guardian = fileURLToPath(new URL('./guardian.mjs', import.meta.url))

/** `group`: signals go to the program and to all it started. `channel`: an IPC channel whose end tells it to stop.
 * @typedef {{ command: string, args: string[], channel: boolean, group: boolean, stopSignal: NodeJS.Signals }} Program */

/** A Node program: lib/supervise.mjs stops it when the channel breaks. @returns {Program} */
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
 * What Node is told for a service, as in the images. V8 by itself takes the memory of a process that has had nothing to do
 * for some seconds, and its compiled code with it; the requests that come next cost up to twice as much, which is when a
 * server least needs it. In return the heap at most doubles at a time (docs/performance.md).
 */
export const SERVICE_OPTIONS = ['--no-memory-reducer', '--no-flush-bytecode', '--heap-growing-percent=100']

/** A service of ours. @returns {Program} */
export function serviceProgram(file, nodeOptions = []) {
  return nodeProgram(file, [], [...SERVICE_OPTIONS, ...nodeOptions])
}

/**
 * A native program: the kernel ends it where setpriv can ask it to, else a guardian process does. `prefix` is a command
 * that changes the identity and then becomes the program.
 * @returns {Program}
 */
export function nativeProgram({ prefix = [], command, args: programArgs, stopSignal }) {
  if (kernelEndsChildren()) {
    // After the prefix: a change of identity would drop the kernel's promise.
    const [first, ...rest] = [...prefix, ...deathSignal(stopSignal), command, ...programArgs]
    return { command: first, args: rest, channel: false, group: false, stopSignal }
  }
  const args = [guardian, stopSignal, ...prefix, command, ...programArgs]
  return { command: process.execPath, args, channel: true, group: false, stopSignal: 'SIGTERM' }
}

const deathSignal = (signal) => ['setpriv', '--pdeathsig', signal.replace(/^SIG/, ''), '--']

let kernelKnown
function kernelEndsChildren() {
  kernelKnown ??= process.platform === 'linux' && succeeds([...deathSignal('SIGTERM'), 'true'])
  return kernelKnown
}

/** Whether a command can be run and ends with 0. */
export function succeeds([command, ...args]) {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 5_000 }).status === 0
}

/** The full path of the first of these programs that is on PATH. */
export function findOnPath(names, searchPath = process.env.PATH ?? '') {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '')
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isProgram)
}

export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
