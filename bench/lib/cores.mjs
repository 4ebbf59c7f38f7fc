// Runs the measured servers and everything else on separate cores. Linux only.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const SERVERS = process.env.BENCH_CPU_SERVER ?? '0'
const REST = process.env.BENCH_CPU_REST ?? (availableParallelism() > 1 ? '1' : '0')
const THREADS = '/proc/self/task'

/** Moves this process to the other core, with all later child processes without `onServerCore`: stores, command lines, load. */
export function moveToOtherCore() {
  // One thread at a time: `taskset -a` fails if one of the threads ends meanwhile.
  for (const thread of readdirSync(THREADS)) {
    const { status, stderr } = spawnSync('taskset', ['-pc', REST, thread], { encoding: 'utf8' })
    if (status !== 0 && existsSync(`${THREADS}/${thread}`)) throw new Error(`taskset failed: ${stderr}`)
  }
}

/** A program of dev-stack on the core of the servers. taskset executes the program, so the process id is the program's. */
export function onServerCore(program) {
  return { ...program, command: 'taskset', args: ['-c', SERVERS, program.command, ...program.args] }
}
