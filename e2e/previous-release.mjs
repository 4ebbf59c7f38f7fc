// Checks that migrations are safe while the previous release runs: builds its code and runs the whole flow on databases
// with the migrations of this checkout. Not run by npm test.
// npm run check:previous-release [-- COMMIT]    default: the commit in infra/previous-release.json
// Exits with 3 before the first release.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
import { readPreviousRelease } from './support/read-previous-release.mjs'
import { evaluateFlows } from './system/load/flows.mjs'
import { startWorld } from './system/start-world.mjs'
import { openWorkshop } from './system/workshop.mjs'

const RECORD = 'infra/previous-release.json'
const TIME_LIMIT_MINUTES = 5
const LOAD_MS = 5_000
const NO_RELEASE_YET = 3

const commit = process.argv[2] ?? readPreviousRelease(path.join(checkout, RECORD))?.commit
if (commit === undefined) {
  console.log(`There is no release yet: ${RECORD} names none. Nothing was checked.`)
  process.exit(NO_RELEASE_YET)
}
if (!isHere()) spawnSync('git', ['fetch', '--quiet', 'origin', commit], { cwd: checkout, stdio: 'inherit' })
if (!isHere()) {
  console.log(`${commit} is not in this clone and could not be fetched: git fetch --unshallow`)
  process.exit(1)
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
  const previous = build(path.join(workshop.directory, 'previous-release'))
  const main = (service) => path.join(previous, 'services', service, 'dist/main.js')
  const services = ['authorization-server', 'resource-server']
  world = await startWorld({ size: 1, mains: Object.fromEntries(services.map((service) => [service, main(service)])) })
  const { flows } = world
  const load = flows.run([await flows.signIn(), await flows.signIn()], { newcomersEveryMs: 500 })
  await wait(LOAD_MS)
  await load.stop()
  const { requests, unavailable, failed } = evaluateFlows(flows.seen)
  const kinds = new Set(flows.seen.map(({ what }) => what))
  const isWell = failed.length === 0 && unavailable === 0 && kinds.size === 5
  return [
    isWell ? 0 : 1,
    [
      `${commit} on databases migrated by this checkout: ${requests} requests, ${unavailable} answered by 503, ${failed.length} failed`,
      ...failed.slice(0, 10).map(({ what, status, said }) => `${what} ended with ${status}: ${said}`),
      isWell ? 'PASSED' : 'FAILED'
    ]
  ]
}

/** Installs and compiles the previous release in a separate folder. */
function build(folder) {
  mkdirSync(folder)
  const archive = execFileSync('git', ['archive', commit], { cwd: checkout, maxBuffer: 500 * 1024 * 1024 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const bootstrap = path.join(folder, 'packages/dev-stack/bin/bootstrap.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [bootstrap], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${commit} could not be built:\n${stdout}${stderr}`)
  return folder
}

/** A shallow clone may lack the commit. */
function isHere() {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: checkout, stdio: 'ignore' }).status === 0
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  await world?.close()
  await workshop.close()
  console.log(lines.join('\n'))
  process.exit(code)
}
