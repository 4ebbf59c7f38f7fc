import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

// In nanoseconds if the kernel provides them, else in ticks of about ten milliseconds.
const isExact = existsSync('/proc/self/schedstat')
const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of these processes so far, all threads, user and system; Linux only. */
export function processSeconds(pids) {
  return pids.reduce((total, pid) => total + (isExact ? exactSeconds(pid) : ownSeconds(fieldsOf(pid))), 0)
}

/** The same of a process, its children and its ended children; 0 if there is no such process. */
export function familySeconds(pid) {
  if (pid === undefined) return 0
  const fields = fieldsOf(pid)
  // The time of ended children is added to their parent.
  const ended = (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((total, child) => total + secondsIfAlive(child), processSeconds([pid]) + ended)
}

/** Processor time of the whole machine so far. */
export function machineSeconds() {
  const [, user, nice, system, , , interrupts, softInterrupts] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    .split(/\s+/)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts) / ticksPerSecond
}

function secondsIfAlive(pid) {
  try {
    return processSeconds([pid])
  } catch {
    return 0
  }
}

function exactSeconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((total, thread) => total + nanosecondsOf(pid, thread), 0) / 1e9
}

function nanosecondsOf(pid, thread) {
  try {
    return Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10)
  } catch {
    // The process has just ended.
    return 0
  }
}

const ownSeconds = (fields) => (Number(fields[11]) + Number(fields[12])) / ticksPerSecond

function fieldsOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name, which may contain spaces; numbers follow.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
