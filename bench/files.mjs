// npm run bench:files: the processor time of both servers for GET /v1/files, without and with the token cache, beside the
// floor (floor/). Rounds are interleaved, all of it on 127.0.0.1, in two to three minutes. Ends with 1 when a
// median is over its gate. Linux only.
import { Pool } from 'undici'
import { collectAccessTokens } from './lib/access-tokens.mjs'
import { FILES } from './lib/books.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { processSeconds } from './lib/process-seconds.mjs'
import { startRival } from './lib/rivals.mjs'
import { inRounds, median } from './lib/rounds.mjs'
import { sendAll } from './lib/send-all.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8)
const REQUESTS = 4_000
const SENDERS = 32
// A token is used many times, as in life: a cache may help.
const TOKENS = 500
const CACHE_SECONDS = '60'
const GATES = { 'no cache': 0.75, cache: 0.45 }

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const names = ['floor', 'authorization', 'files', 'authorization_cached', 'files_cached']
  const stores = await createStores(names, { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const [floorUrl, ...urls] = stores.databaseUrls
  const contenders = [
    await floor(floorUrl),
    await valetkey('no cache', urls.slice(0, 2), '0'),
    await valetkey('cache', urls.slice(2), CACHE_SECONDS)
  ]
  for (const contender of contenders) await run(contender, REQUESTS)
  const figures = await inRounds(contenders, ROUNDS, (contender) => run(contender, REQUESTS))
  return report(figures)

  async function floor(databaseUrl) {
    const { redisUrl } = stores
    const started = await startRival('floor', { databaseUrl, redisUrl, directory: `${directory}/floor`, processes })
    return contend('floor', { ...started, tokens: await collectAccessTokens(started, TOKENS) })
  }

  async function valetkey(name, databaseUrls, cacheSeconds) {
    const { redisUrl } = stores
    const environment = { ...process.env, INTROSPECTION_CACHE_TTL: cacheSeconds }
    const own = `${directory}/${name.replace(' ', '-')}`
    const started = await startValetkey({ databaseUrls, redisUrl, directory: own, processes, environment })
    return contend(name, { ...started, tokens: await collectAccessTokens(started, TOKENS) })
  }
})

function contend(name, { filesUrl, tokens, pids }) {
  const { origin, pathname } = new URL(filesUrl)
  const pool = new Pool(origin, { connections: SENDERS })
  const send = async (number) => {
    const headers = { authorization: `Bearer ${tokens[number % tokens.length]}` }
    const { statusCode, body } = await pool.request({ method: 'GET', path: pathname, headers })
    const text = await body.text()
    // Reading every page would cost more than it says.
    const isPage = statusCode === 200 && (number > 0 || JSON.parse(text).files.length === FILES)
    if (!isPage) throw new Error(`${name} answered ${statusCode}: ${text.slice(0, 500)}`)
  }
  return { name, pids, send }
}

/** @returns milliseconds of processor time a request */
async function run({ pids, send }, count) {
  const before = processSeconds(pids)
  await sendAll(send, { count, senders: SENDERS })
  return ((processSeconds(pids) - before) / count) * 1_000
}

function report(figures) {
  const base = median(figures.get('floor'))
  console.log(`GET /v1/files, ${FILES} files, ${TOKENS} tokens reused; CPU of both servers, seconds per 1,000 requests`)
  console.log(`${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${SENDERS} at a time\n`)
  let isOver = false
  for (const [name, values] of figures) {
    const middle = median(values)
    const ratio = middle / base
    const gate = GATES[name]
    const over = gate !== undefined && ratio > gate
    isOver ||= over
    const range = `${Math.min(...values).toFixed(3)}–${Math.max(...values).toFixed(3)}`
    const judged = gate === undefined ? '' : `  ${over ? 'over' : 'within'} the gate of ${gate.toFixed(2)}`
    console.log(`${name.padEnd(9)} ${middle.toFixed(3)} (${range})  × floor ${ratio.toFixed(2)}${judged}`)
  }
  return isOver ? 1 : 0
}
