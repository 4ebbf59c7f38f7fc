import { execFileSync } from 'node:child_process'

/** The numbers of all processes below this one. */
export function descendantsOf(pid: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const parents = rows.map((row) => row.trim().split(/\s+/).map(Number))
  const childrenOf = (parent: number): number[] =>
    parents.flatMap(([child = 0, its]) => (its === parent ? [child, ...childrenOf(child)] : []))
  return childrenOf(pid)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
