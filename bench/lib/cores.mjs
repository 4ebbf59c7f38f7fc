// Which cores the measured servers and everything else run on, so that neither takes the other's time. Linux only.
import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const SERVERS = process.env.BENCH_CPU_SERVER ?? '0'
const REST = process.env.BENCH_CPU_REST ?? (availableParallelism() > 1 ? '1' : '0')

/** This process, and so all that it starts from now on without `onServerCore`: stores, command lines, the load. */
export function moveToOtherCore() {
  execFileSync('taskset', ['-apc', REST, String(process.pid)])
}

/** A program of dev-stack, on the core of the servers. taskset becomes the program, so its pid is the program's own. */
export function onServerCore(program) {
  return { ...program, command: 'taskset', args: ['-c', SERVERS, program.command, ...program.args] }
}
