// npm run bench:import: memory of "valetkey-files import" with 100,000 files and, with --prune, with 1,000,000 files; half
// of them are in one directory. Takes some minutes. BENCH_FILES replaces the million. Exits with 1 if the larger tree takes
// much more memory than the smaller one. Linux only.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { commandLines } from '../packages/dev-stack/lib/checkout.mjs'
import { nodeProgram } from '../packages/dev-stack/lib/processes/programs.mjs'
import { commandLine } from '../packages/dev-stack/lib/start/command-lines.mjs'
import { createStores } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const FILES = Number(process.env.BENCH_FILES ?? 1_000_000)
const OWNER = randomUUID()
const GATE = 1.25

await inWorkplace(async ({ directory, processes, afterwards }) => {
  const stores = await createStores(['files'], { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const environment = { PATH: process.env.PATH, RESOURCE_DATABASE_URL: stores.databaseUrls[0] }
  await commandLine({ service: 'resource-server', environment, processes })(['migrate'])
  const tree = path.join(directory, 'tree')
  const peaks = []
  let made = 0
  for (const count of [FILES / 10, FILES]) {
    for (; made < count; made++) makeFile(tree, made)
    for (const options of [[], ['--prune', '--yes']]) {
      const begunAt = Date.now()
      const peak = await peakOf(['import', '--owner', OWNER, '--json', ...options, tree])
      const seconds = ((Date.now() - begunAt) / 1_000).toFixed(0)
      console.log(`${count} files ${options.join(' ').padEnd(13)} ${peak} MB at most, ${seconds} s`)
      peaks.push(peak)
    }
  }
  rmSync(tree, { recursive: true })
  const ratio = Math.max(...peaks.slice(2)) / Math.max(...peaks.slice(0, 2))
  console.log(`ten times the files: ${ratio.toFixed(2)} times the memory, ${ratio <= GATE ? 'within' : 'over'} ${GATE}`)
  return ratio <= GATE ? 0 : 1

  /** The peak resident memory of the command, in megabytes. */
  async function peakOf(args) {
    const program = nodeProgram(commandLines['resource-server'], args)
    const handle = processes.start({
      name: 'import',
      program,
      environment,
      logFile: path.join(directory, 'import.log')
    })
    let ended
    handle.exited.then((end) => {
      ended = end
    })
    let peak = 0
    while (ended === undefined) {
      peak = Math.max(peak, peakMegabytes(handle.child.pid))
      await wait(100)
    }
    if (ended.code !== 0) throw new Error(readFileSync(path.join(directory, 'import.log'), 'utf8'))
    return peak
  }
})

function makeFile(tree, number) {
  const folder = path.join(tree, number % 2 === 0 ? 'all' : `${number % 1_000}`)
  if (number < 1_000) mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, `${number}.txt`), '')
}

function peakMegabytes(pid) {
  try {
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024)
  } catch {
    // The process has just ended.
    return 0
  }
}
