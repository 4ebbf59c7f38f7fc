// Checks changes without downtime: releases, keys, secrets, and failovers and restarts of stores. Two instances of each
// service behind load balancers, with Redis behind three Sentinels, under load. Not run by npm test.
// npm run check:rolling [-- --sessions 4 --only Redis]
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { migrate } from '../packages/service-kit/dist/index.js'
import { evaluateFlows } from './system/load/flows.mjs'
import { newResourceServer, startWorld } from './system/start-world.mjs'
import { startSentinels } from './system/stores/redis-servers.mjs'

const TIME_LIMIT_MINUTES = 6
/** How long requests may be refused after a store is available again. */
const RECOVERY_MS = 4_000
const MIGRATIONS = new URL('../services/authorization-server/migrations', import.meta.url).pathname

const { values } = parseArgs({
  options: { sessions: { type: 'string', default: '4' }, only: { type: 'string', default: '' } }
})
const sessionCount = Number(values.sessions)
if (!(sessionCount >= 1 && sessionCount <= 50)) {
  console.error('--sessions is a number from 1 to 50.')
  process.exit(2)
}

const world = await startWorld({ settings: { DRAIN_DELAY: '1' }, cacheSeconds: 60, startStore: startSentinels })
const { fleet, flows, valetkey, redis, postgres, directory } = world
let stopped
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
setTimeout(() => finish(1, [`stopped after ${TIME_LIMIT_MINUTES} minutes`]), TIME_LIMIT_MINUTES * 60_000).unref()

try {
  await finish(...(await run()))
} catch (error) {
  await finish(1, [error.stack])
}

async function run() {
  const sessions = []
  for (let count = 0; count < sessionCount; count++) sessions.push(await flows.signIn())
  // These sessions and consents are old enough to be replicated.
  await wait(5_000)
  const load = flows.run(sessions, { newcomersEveryMs: 500 })
  const problems = []
  for (const step of steps().filter(({ name }) => name.includes(values.only))) problems.push(...(await take(step)))
  await load.stop()
  const all = evaluateFlows(flows.seen)
  return [
    problems.length === 0 ? 0 : 1,
    [
      '',
      `${all.requests} requests of ${sessionCount} sessions and of newcomers, ${all.unavailable} answered by 503, ${all.failed.length} failed`,
      ...problems.slice(0, 20),
      problems.length === 0 ? 'PASSED: no request failed, and no user had to sign in again' : 'FAILED'
    ]
  ]
}

function steps() {
  const [cookieKey, pageKey] = ['COOKIE_KEYS', 'PAGE_TOKEN_KEYS'].map((name) => keyOf(name))
  return [
    { name: 'nothing', act: () => wait(3_000) },
    {
      name: 'every instance restarts, with a migration in the middle',
      async act() {
        await fleet.restartAll('resource-server')
        const [first, ...others] = fleet.instances['authorization-server']
        await fleet.restart(first)
        await migrateFurther()
        for (const instance of others) await fleet.restart(instance)
      }
    },
    { name: 'COOKIE_KEYS', act: () => rotateKey('authorization-server', 'COOKIE_KEYS', cookieKey) },
    { name: 'PAGE_TOKEN_KEYS', act: () => rotateKey('resource-server', 'PAGE_TOKEN_KEYS', pageKey) },
    { name: "the client's secret", act: rotateClientSecret },
    { name: "the resource server's credential", act: rotateCredential },
    { name: 'Redis fails over', isOutage: true, act: () => redis.killPrimary() },
    {
      name: 'Postgres restarts',
      isOutage: true,
      async act() {
        await postgres.stop()
        await postgres.comeBack()
      }
    }
  ]
}

/** @returns the violated promises */
async function take({ name, act, isOutage = false }) {
  const from = Date.now()
  await act()
  const acted = Date.now()
  // Refusals after this time are failures.
  if (isOutage) await wait(RECOVERY_MS)
  const mended = Date.now()
  await wait(2_000)
  const { requests, unavailable, awayFor, failed, unavailableAt } = evaluateFlows(flows.seen, from)
  const late = unavailableAt.filter((at) => at > mended).length
  const seconds = ((acted - from) / 1_000).toFixed(1)
  const outage = isOutage ? ` (over ${(awayFor / 1_000).toFixed(1)} s, ${late} of them late)` : ''
  console.log(
    `${name}: ${seconds} s, ${requests} requests, ${unavailable} answered by 503${outage}, ${failed.length} failed`
  )
  return [
    ...failed.map(({ what, status, said }) => `${name}: ${what} ended with ${status}: ${said}`),
    ...(!isOutage && unavailable > 0 ? [`${name}: ${unavailable} answered by 503`] : []),
    ...(late > 0 ? [`${name}: ${late} answered by 503 after ${RECOVERY_MS / 1_000} s`] : [])
  ]
}

function keyOf(name) {
  const instances = Object.values(fleet.instances).flat()
  return instances.find(({ environment }) => environment[name] !== undefined).environment[name]
}

/** All instances accept the new key before one uses it, and the old key is removed last (docs/rotation.md). */
async function rotateKey(service, name, old) {
  const key = randomBytes(32).toString('hex')
  for (const keys of [`${old},${key}`, `${key},${old}`, key]) {
    await fleet.restartAll(service, { [name]: keys })
    // The last values signed with the old key have been read by then.
    await wait(500)
  }
}

async function rotateClientSecret() {
  const { client_secret: secret } = await valetkey(['clients', 'rotate-secret', world.app.clientId, '--json'])
  // The change is effective within a second.
  await wait(1_000)
  flows.useSecret(secret)
}

/** Adds a second credential of the same audience. After all instances use it, the first one is not used any more. */
async function rotateCredential() {
  await fleet.restartAll('resource-server', await newResourceServer(valetkey))
}

/** A migration as in the next release: it adds to tables that are in use. */
async function migrateFurther() {
  const next = mkdtempSync(path.join(directory, 'migrations-'))
  cpSync(MIGRATIONS, next, { recursive: true })
  const more = ['clients', 'grants', 'users'].map(
    (table) => `alter table ${table} add column of_the_next_release text;`
  )
  writeFileSync(
    path.join(next, '9999_add_what_comes_next.sql'),
    ["set local lock_timeout = '5s';", ...more, ''].join('\n')
  )
  const applied = await migrate(world.databaseUrls[0], next)
  if (applied.length !== 1) throw new Error(`the migration was not applied: ${applied}`)
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  await world.close()
  console.log(lines.join('\n'))
  process.exit(code)
}
