// Information about processes that this process did not start.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { codeOf } from '../error-code.mjs'

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * The command line of a process; empty if there is no such process. A process id alone may have been reused since.
 * @param {number} pid
 */
export function commandOf(pid) {
  return hasProc ? readProc(pid, 'cmdline').replaceAll('\0', ' ').trim() : askPs(pid, 'command=')
}

/** @param {number} pid */
export function parentOf(pid) {
  // The second field is the program's name in parentheses, and may contain parentheses itself.
  return hasProc
    ? Number(
        readProc(pid, 'stat')
          .replace(/^.*\) \S+ /s, '')
          .split(' ')[0]
      )
    : Number(askPs(pid, 'ppid='))
}

const hasProc = existsSync('/proc/self/stat')

/**
 * @param {number} pid
 * @param {string} name
 */
function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * @param {number} pid
 * @param {string} column
 */
const askPs = (pid, column) =>
  spawnSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? ''
