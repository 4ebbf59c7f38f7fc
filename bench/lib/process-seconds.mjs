import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of these processes so far, all threads, user and system; Linux only. */
export function processSeconds(pids) {
  return pids.reduce((total, pid) => total + secondsOf(readFileSync(`/proc/${pid}/stat`, 'utf8')), 0)
}

function secondsOf(stat) {
  // The second field is the name, which may hold blanks; what follows it is numbers.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
