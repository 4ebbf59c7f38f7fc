// Anonymous clients send every possible request, first from one address and then from many, while a user signs in and
// allows an app, and the app exchanges the code, reads files and refreshes. Redis has the memory limit of
// docker-compose.yml. Not run by npm test.
// npm run check:flood [-- --minutes 10 --addresses 1 --addresses 10000 --rate 400]
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { createApp, tokensIn } from '../packages/dev-stack/lib/client/app.mjs'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { registerClient } from '../packages/dev-stack/lib/services/register.mjs'
import { randomSecret } from '../packages/dev-stack/lib/start/secrets.mjs'
import { startRedis } from '../packages/dev-stack/lib/stores/redis.mjs'
import { limitRedisMemory } from '../packages/dev-stack/lib/stores/redis-memory.mjs'
import { measureStores } from './flood/measure-stores.mjs'
import { startWorld } from './system/start-world.mjs'

const REDIS_LIMIT = '256mb'
// The first limit is the memory that a flood may add to Redis: counters and codes, which all expire.
const MOST_REDIS_MB = 64
const MOST_PROCESS_MB = 400
const MOST_AUDIT_ROWS_PER_MINUTE = 2_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    addresses: { type: 'string', multiple: true, default: ['1', '10000'] },
    rate: { type: 'string', default: '400' },
    guesses: { type: 'string', default: '10' }
  }
})
const [minutes, rate, guesses] = [values.minutes, values.rate, values.guesses].map(Number)
const addressCounts = values.addresses.map(Number)
if (!(minutes > 0 && minutes <= 30 && rate >= 1 && rate <= 5_000 && guesses >= 1 && guesses <= 100)) {
  console.error('--minutes is a number up to 30, --rate requests per second from 1 to 5000, --guesses from 1 to 100.')
  process.exit(2)
}
if (!addressCounts.every((count) => Number.isInteger(count) && count >= 1 && count <= 1_000_000)) {
  console.error('--addresses is a whole number from 1 to 1000000.')
  process.exit(2)
}

const world = await startWorld({ size: 1, cacheSeconds: 60, startStore })
const app = await registerApp()
let stopped
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
try {
  const problems = []
  for (const addresses of addressCounts) problems.push(...(await flood(addresses)))
  await finish(problems.length === 0 ? 0 : 1, [...problems, problems.length === 0 ? 'PASSED' : 'FAILED'])
} catch (error) {
  await finish(1, [error.stack])
}

/** @returns the violated promises */
async function flood(addresses) {
  console.log(`\nFrom ${addresses} ${addresses === 1 ? 'address' : 'addresses'}, ${rate} requests per second:`)
  const seen = []
  const flooding = startFlood(addresses)
  const until = Date.now() + minutes * 60_000
  const before = await measureStores(world)
  printMeasures(before)
  const problems = []
  let printAt = Date.now() + 60_000
  while (Date.now() < until) {
    await visit(seen)
    if (Date.now() > printAt) {
      printMeasures(await measureStores(world))
      printAt += 60_000
    }
    await wait(250)
  }
  const after = await measureStores(world)
  printMeasures(after)
  const { sent, answers } = await flooding.stop()
  console.log(`${sent} anonymous requests:`)
  for (const [answer, count] of answers) console.log(`  ${answer}: ${count}`)
  const wrong = seen.filter(({ status }) => status !== 200)
  const times = seen.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
  console.log(
    `${seen.length} regular requests, ${wrong.length} with an unexpected response, slowest ${times.at(-1)} ms`
  )
  const counts = new Map()
  for (const { what, status } of wrong) counts.set(`${what}: ${status}`, (counts.get(`${what}: ${status}`) ?? 0) + 1)
  for (const [what, count] of counts) problems.push(`${count} times ${what}`)
  const rows = (after.auditRows - before.auditRows) / minutes
  if (seen.length === 0) problems.push('no regular request was sent')
  const asked = (rate + guesses) * minutes * 60
  if (sent < asked / 2) problems.push(`only ${sent} of ${asked} anonymous requests could be sent`)
  if (after.redisMegabytes > MOST_REDIS_MB) problems.push(`Redis holds ${after.redisMegabytes} MB`)
  if (rows > MOST_AUDIT_ROWS_PER_MINUTE) problems.push(`${Math.round(rows)} audit rows per minute`)
  for (const { name, mostMegabytes } of after.processes) {
    if (mostMegabytes > MOST_PROCESS_MB) problems.push(`${name} took ${mostMegabytes} MB`)
  }
  return problems.map((problem) => `${addresses} addresses: ${problem}`)
}

function startFlood(addresses) {
  const [auth] = world.fleet.instances['authorization-server']
  const [files] = world.fleet.instances['resource-server']
  const ports = {
    public: auth.ports.PUBLIC_LISTEN,
    internal: auth.ports.INTERNAL_LISTEN,
    operator: auth.ports.OPERATOR_LISTEN,
    files: files.ports.PUBLIC_LISTEN
  }
  const { clientId, redirectUri, scope } = app
  const workerData = {
    app: { clientId, redirectUri, scope },
    issuer: world.fleet.issuer,
    ports,
    addresses,
    perSecond: rate,
    guessesPerSecond: guesses
  }
  const worker = new Worker(new URL('flood/send-flood.mjs', import.meta.url), { workerData })
  worker.on('error', (error) => finish(1, [error.stack]))
  return {
    async stop() {
      const answered = once(worker, 'message')
      worker.postMessage('stop')
      const [result] = await answered
      return result
    }
  }
}

/** A user with a new browser, from the first page to the refreshed list of files. Ends at the first wrong response. */
async function visit(seen) {
  const { fleet } = world
  const client = createApp({ ...app, issuer: fleet.issuer })
  const browser = createHttpBrowser(fleet.issuer)
  async function step(what, act) {
    const startedAt = performance.now()
    const answer = await act().catch((error) => ({ status: error.cause?.code ?? error.name }))
    seen.push({ what, status: answer.status, milliseconds: Math.round(performance.now() - startedAt) })
    return answer.status === 200 ? answer : undefined
  }
  const form = await step('sign-in page', () => browser.open(client.authorizeUrl()))
  const consent = form && (await step('sign-in', () => browser.submit(form, app.user)))
  const code = consent && (await step('consent', () => allow(browser, consent)))
  const exchange = code && (await step('exchange', () => client.exchange(code.code)))
  if (!exchange) return
  const { access_token: accessToken, refresh_token: refreshToken } = tokensIn(exchange)
  await step('files', () =>
    fetch(`${fleet.filesUrl}/v1/files`, {
      headers: { authorization: `Bearer ${accessToken}` },
      signal: AbortSignal.timeout(15_000)
    })
  )
  await step('refresh', () => client.refresh(refreshToken))
}

/** An app that does not remember consent, so that each visit has a consent page. */
async function registerApp() {
  const { redirectUri, scope, username, password } = world.app
  const client = await registerClient(world.valetkey, { name: 'Flood', redirectUri, scope, options: [] })
  return { ...client, user: { username, password } }
}

async function allow(browser, consent) {
  const { url, status } = await browser.submit(consent, { decision: 'allow' })
  const code = url.searchParams.get('code')
  return code === null ? { status: `${status} at ${url.pathname}` } : { status: 200, code }
}

function printMeasures({ redisMegabytes, redisKeys, processes, tables, auditRows }) {
  const memory = processes.map(({ name, megabytes }) => `${name} ${megabytes} MB`).join(', ')
  console.log(`  Redis ${redisMegabytes} MB, ${redisKeys} keys; ${memory}; ${auditRows} audit rows`)
  console.log(`    ${tables.map(({ name, rows, kilobytes }) => `${name} ${rows} rows ${kilobytes} KB`).join(', ')}`)
}

async function startStore({ directory, processes, command }) {
  const { url } = await startRedis({
    command,
    processes,
    directory: `${directory}/redis`,
    logFile: `${directory}/redis.log`,
    password: randomSecret(),
    durable: true
  })
  await limitRedisMemory(url, REDIS_LIMIT)
  return { url }
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  await world.close()
  console.log(lines.join('\n'))
  process.exit(code)
}
