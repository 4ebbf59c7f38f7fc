import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { library } from './library.js'

const { parentOf } = await library('processes/process-table')

/** The numbers of all processes below this one. */
export function descendantsOf(pid: number): number[] {
  const parents = existsSync('/proc/self/stat') ? fromProc() : fromPs()
  const childrenOf = (parent: number): number[] =>
    parents.flatMap(([child = 0, its]) => (its === parent ? [child, ...childrenOf(child)] : []))
  return childrenOf(pid)
}

/** A small Linux has no `ps`. */
function fromProc(): number[][] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map((pid) => [Number(pid), parentOf(pid)])
}

function fromPs(): number[][] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return rows.map((row) => row.trim().split(/\s+/).map(Number))
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
