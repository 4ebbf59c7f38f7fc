// Which cores the measured servers and everything else run on, so that neither takes the other's time. Linux only.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const SERVERS = process.env.BENCH_CPU_SERVER ?? '0'
const REST = process.env.BENCH_CPU_REST ?? (availableParallelism() > 1 ? '1' : '0')
const THREADS = '/proc/self/task'

/** This process, and so all that it starts from now on without `onServerCore`: stores, command lines, the load. */
export function moveToOtherCore() {
  // One by one: `taskset -a` fails as a whole if one of the threads ends meanwhile.
  for (const thread of readdirSync(THREADS)) {
    const { status, stderr } = spawnSync('taskset', ['-pc', REST, thread], { encoding: 'utf8' })
    if (status !== 0 && existsSync(`${THREADS}/${thread}`)) throw new Error(`taskset failed: ${stderr}`)
  }
}

/** A program of dev-stack, on the core of the servers. taskset becomes the program, so its pid is the program's own. */
export function onServerCore(program) {
  return { ...program, command: 'taskset', args: ['-c', SERVERS, program.command, ...program.args] }
}
