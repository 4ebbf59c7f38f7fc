// Migrations are safe while the previous release runs: its code, built anew, does the whole flow on databases that the
// migrations of this checkout brought up to date. Nothing of it is part of npm test.
// npm run check:previous-release [-- REF]    by default the newest tag, or where there is none the commit below
// Ends with 3 when this clone does not have it, as a shallow one.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
import { judge } from './fleet/flows.mjs'
import { startWorld } from './fleet/start-world.mjs'
import { openWorkshop } from './fleet/workshop.mjs'

/** Of main, before there was a release. */
const FIRST = '46f0eb5'
const TIME_LIMIT_MINUTES = 5
const LOAD_MS = 5_000
const NOT_HERE = 3

const ref = process.argv[2] ?? newestTag() ?? FIRST
if (spawnSync('git', ['cat-file', '-e', `${ref}^{commit}`], { cwd: checkout, stdio: 'ignore' }).status !== 0) {
  console.log(`${ref} is not in this clone: git fetch --unshallow --tags`)
  process.exit(NOT_HERE)
}
const workshop = openWorkshop()
let world
let stopped
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
setTimeout(() => finish(1, [`stopped after ${TIME_LIMIT_MINUTES} minutes`]), TIME_LIMIT_MINUTES * 60_000).unref()

try {
  await finish(...(await run()))
} catch (error) {
  await finish(1, [error.stack])
}

async function run() {
  const former = build(path.join(workshop.directory, 'previous-release'))
  const main = (service) => path.join(former, 'services', service, 'dist/main.js')
  const services = ['authorization-server', 'resource-server']
  world = await startWorld({ size: 1, mains: Object.fromEntries(services.map((service) => [service, main(service)])) })
  const { flows } = world
  const load = flows.run([await flows.signIn(), await flows.signIn()], { newcomersEveryMs: 500 })
  await wait(LOAD_MS)
  await load.stop()
  const { requests, unavailable, failed } = judge(flows.seen)
  const kinds = new Set(flows.seen.map(({ what }) => what))
  const isWell = failed.length === 0 && unavailable === 0 && kinds.size === 5
  return [
    isWell ? 0 : 1,
    [
      `${ref} on databases migrated by this checkout: ${requests} requests, ${unavailable} answered by 503, ${failed.length} failed`,
      ...failed.slice(0, 10).map(({ what, status, said }) => `${what} ended with ${status}: ${said}`),
      isWell ? 'PASSED' : 'FAILED'
    ]
  ]
}

/** The code of the former release in a folder of its own, installed and compiled. */
function build(folder) {
  mkdirSync(folder)
  const archive = execFileSync('git', ['archive', ref], { cwd: checkout, maxBuffer: 500 * 1024 * 1024 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const bootstrap = path.join(folder, 'packages/dev-stack/bin/bootstrap.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [bootstrap], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${ref} could not be built:\n${stdout}${stderr}`)
  return folder
}

function newestTag() {
  const tags = execFileSync('git', ['tag', '--merged', 'HEAD', '--sort=-version:refname', 'v*'], { cwd: checkout })
  return tags.toString().split('\n')[0] || undefined
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  await world?.close()
  await workshop.close()
  console.log(lines.join('\n'))
  process.exit(code)
}
