// npm run bench:files: the processor time of both servers for GET /v1/files, without and with the token cache, beside the
// floor (floor/). Rounds are interleaved, all of it on 127.0.0.1, in two to three minutes. Ends with 1 when a
// median is over its gate. Linux only.
import { collectAccessTokens } from './lib/access-tokens.mjs'
import { FILES } from './lib/books.mjs'
import { moveToOtherCore } from './lib/cores.mjs'
import { measure, SENDERS } from './lib/measure.mjs'
import { operationsOf } from './lib/operations.mjs'
import { startRival } from './lib/rivals.mjs'
import { inRounds, median } from './lib/rounds.mjs'
import { storeProcesses } from './lib/store-processes.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { judge, ratiosOf } from './lib/verdicts.mjs'
import { TOKENS_IN_USE } from './lib/whole-flow.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8)
const REQUESTS = 4_000
const CACHE_SECONDS = '60'
const GOALS = [
  { name: 'no cache', operation: 'files', of: 'no cache', to: 'floor', most: 0.75 },
  { name: 'cache', operation: 'files', of: 'cache', to: 'floor', most: 0.45 }
]

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
  const pids = await storeProcesses(stores)
  // Twice, for what is compiled while it runs is cheaper afterwards.
  await inRounds(contenders, 2, (contender) => run(contender, pids))
  const figures = await inRounds(contenders, ROUNDS, (contender) => run(contender, pids))
  for (const { operations } of contenders) operations.close()
  return report(figures)

  async function floor(databaseUrl) {
    const { redisUrl } = stores
    const started = await startRival('floor', { databaseUrl, redisUrl, directory: `${directory}/floor`, processes })
    return contend('floor', { ...started, tokens: await collectAccessTokens(started, TOKENS_IN_USE) })
  }

  async function valetkey(name, databaseUrls, cacheSeconds) {
    const { redisUrl } = stores
    const environment = { ...process.env, INTROSPECTION_CACHE_TTL: cacheSeconds }
    const own = `${directory}/${name.replace(' ', '-')}`
    const started = await startValetkey({ databaseUrls, redisUrl, directory: own, processes, environment })
    return contend(name, { ...started, tokens: await collectAccessTokens(started, TOKENS_IN_USE) })
  }
})

function contend(name, { tokens, ...target }) {
  const operations = operationsOf(target)
  return { name, operations, target, send: (number) => operations.files(tokens[number % tokens.length]) }
}

async function run({ target, send }, stores) {
  return { files: await measure({ pids: target.pids, stores, count: REQUESTS, send }) }
}

function report(figures) {
  console.log(
    `GET /v1/files, ${FILES} files, ${TOKENS_IN_USE} tokens in use; CPU of both servers, seconds per 1,000 requests`
  )
  console.log(`${ROUNDS} interleaved rounds of ${REQUESTS} requests, ${SENDERS} at a time; ratios within each round\n`)
  const verdicts = judge(figures, GOALS)
  for (const [name, rounds] of figures) {
    const seconds = rounds.map(({ files }) => files.server)
    const range = `${Math.min(...seconds).toFixed(3)}–${Math.max(...seconds).toFixed(3)}`
    const ratio = median(ratiosOf(figures, { operation: 'files', of: name, to: 'floor' }))
    const verdict = verdicts.find((each) => each.of === name)
    const judged = verdict && `${verdict.isOver ? 'over' : 'within'} the gate of ${verdict.most.toFixed(2)}`
    console.log(
      `${name.padEnd(9)} ${median(seconds).toFixed(3)} (${range})  × floor ${ratio.toFixed(2)}  ${judged ?? ''}`
    )
  }
  return verdicts.some(({ isOver }) => isOver) ? 1 : 0
}
