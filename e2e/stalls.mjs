// A store stalls during a stream of exchanges on two processes. Checks the responses, and replays afterwards.
// Not run by npm test.
// node e2e/stalls.mjs [--seconds 20] [--rate 20] [--store postgres|redis|lost-answers]
import { countReplays, exchangeThroughStall, isActive, replayAll, summarize } from './system/load/exchange-stream.mjs'
import { prepareApp } from './system/load/prepare-app.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'
import { pausePostgres, pauseRedis, tellRedis } from './system/stores/pause-stores.mjs'

const TIME_LIMIT_MINUTES = 5
const ANSWERED_WITHIN_MS = 5_000
/** The number of replayed codes that Redis has, and of those that it lost. The audit table records all of them. */
const REPLAYED = 10

const STALLS = { postgres: pausePostgres, redis: pauseRedis, 'lost-answers': loseAnswers }

// The lifetime of a code is 29 seconds, and the codes are issued before the stall.
const { seconds, rate, store } = readOptions(
  { seconds: [20, 1, 22], rate: [20, 1, 200] },
  { store: Object.keys(STALLS) }
)
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, settings: { CODE_TTL: '29' } }, run)

async function run(cluster) {
  const { resourceServer, addClient } = await prepareApp(cluster)
  const { client, nextCode } = await addClient()
  const stream = await exchangeThroughStall(cluster, {
    client,
    nextCode,
    perSecond: rate,
    seconds,
    stall: STALLS[store]
  })
  const { requests, outages, slowestMs, refusals, pairs } = summarize(stream)
  let ended = 0
  for (const { token } of pairs) if (!(await isActive(cluster, resourceServer, token))) ended += 1
  const falseReplays = await countReplays(cluster)

  const [known, forgotten] = [pairs.slice(0, REPLAYED), pairs.slice(-REPLAYED)]
  const wrong = await replayAll(cluster, { client, resourceServer, pairs: known })
  await tellRedis(cluster, 'FLUSHDB')
  wrong.push(...(await replayAll(cluster, { client, resourceServer, pairs: forgotten })))
  const isRight = slowestMs < ANSWERED_WITHIN_MS && [refusals, wrong].every(({ length }) => length === 0)
  return [
    isRight && ended === 0 && falseReplays === 0 ? 0 : 1,
    [
      `${store}, ${seconds} s, ${rate} exchanges a second: ${stream.codes.length} codes, ${requests} requests`,
      `responses with 503: ${outages}; slowest response: ${Math.round(slowestMs)} ms`,
      `clients without tokens: ${refusals.length} ${refusals.slice(0, 3).join(' ')}`,
      `tokens that do not work: ${ended}; replays recorded for valid retries: ${falseReplays}`,
      `replayed after it: ${known.length} that Redis knew and ${forgotten.length} that it did not; not detected: ${wrong.length}`
    ]
  ]
}

async function loseAnswers({ authorizationServers }) {
  for (const { postgres, redis } of authorizationServers) {
    postgres.loseAnswers(/store_exchange/)
    redis.loseAnswers(/evalsha/i)
  }
  return () => {
    for (const { postgres, redis } of authorizationServers) [postgres, redis].map((proxy) => proxy.stopLosing())
  }
}
