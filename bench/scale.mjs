// npm run bench:scale: introspection and exchange with ten million live tokens compared with a thousand, in interleaved
// rounds; cost of deleting an hour's expired tokens; duration of ending a million tokens of one user; size of the stores.
// Prints the figures and writes them to docs/capacity.md. Exits with 1 if a goal is missed. Needs 12 GB of disk.
// BENCH_TOKENS replaces the ten million; then nothing is written. Linux only.
import { performance } from 'node:perf_hooks'
import { expiryBucket } from '../packages/oauth-protocol/dist/index.js'
import { moveToOtherCore } from './lib/cores.mjs'
import { deleteExpiredRows, dropBuckets, measureExpiry, walBytesSince, walPosition } from './lib/expire.mjs'
import { fillTokens, HOURS, LIFETIME } from './lib/fill-tokens.mjs'
import { describeRun } from './lib/machine.mjs'
import { measure, SENDERS } from './lib/measure.mjs'
import { operationsOf } from './lib/operations.mjs'
import { inRounds } from './lib/rounds.mjs'
import { sendAll } from './lib/send-all.mjs'
import { storeProcesses } from './lib/store-processes.mjs'
import { connectionsOf, redisSizes, tableSizes } from './lib/store-sizes.mjs'
import { administer, createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'
import { reportScale } from './scale-report.mjs'

const TOKENS = Number(process.env.BENCH_TOKENS ?? 10_000_000)
const FEW = 1_000
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 6)
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 4_000)
const EXPIRIES = 3

await inWorkplace(compareScale)

async function compareScale({ directory, processes, afterwards }) {
  moveToOtherCore()
  const names = ['few', 'few_files', 'many', 'many_files']
  const stores = await createStores(names, { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const { databaseUrls, redisUrl } = stores
  const databaseUrl = databaseUrls[2]
  const pids = await storeProcesses(stores)
  const place = { redisUrl, directory, processes }
  const few = await startFilled('few', { ...place, databaseUrls: databaseUrls.slice(0, 2), count: FEW })
  const many = await startFilled('many', { ...place, databaseUrls: databaseUrls.slice(2), count: TOKENS })
  console.log('the tables are filled')

  // Warm-up: reads every row of the measurement once. Both stacks get the same number of requests, so that V8 compiles both.
  const contenders = [few, many]
  const round = (contender) => measureRound(contender, pids)
  for (const contender of contenders) await warmUp(contender, many.samples.length)
  await inRounds(contenders, 1, round)
  const figures = await inRounds(contenders, ROUNDS, round)
  const connections = [await connectionsOf(databaseUrls[2]), await connectionsOf(databaseUrls[3])]
  const walOfExchange = await measureWal(many, databaseUrl)
  await leaveCodes(many)
  const sizes = { tables: await tableSizes(databaseUrl), keys: await redisSizes(redisUrl) }
  console.log('rounds are over; expiring …')

  const { expired, grants } = await measureExpiries(many, databaseUrl)
  const ended = await endBusyUser(many, databaseUrl)
  const run = await describeRun(stores)
  const rows = Math.ceil(TOKENS / HOURS)
  return reportScale({
    run,
    tokens: TOKENS,
    few: FEW,
    rounds: ROUNDS,
    requests: REQUESTS,
    senders: SENDERS,
    figures,
    expired,
    grants,
    rows,
    ended,
    sizes,
    connections,
    walOfExchange
  })
}

/** A stack with `count` live tokens in its database. */
async function startFilled(name, { databaseUrls, redisUrl, directory, processes, count }) {
  let filled
  const target = await startValetkey({
    databaseUrls,
    redisUrl,
    directory: `${directory}/${name}`,
    processes,
    environment: { ...process.env, CODE_TTL: '29', ACCESS_TOKEN_TTL: String(LIFETIME) },
    async beforeStart({ client, user, audience }) {
      const filling = { clientId: client.id, busyUserId: user.id, audience }
      filled = { ...(await fillTokens(databaseUrls[0], { count, ...filling })), filling }
    }
  })
  return { name, target, ...filled }
}

async function warmUp({ target, samples }, count) {
  const operations = operationsOf(target)
  const send = (number) => operations.introspect(samples[number % samples.length])
  await sendAll(send, { count, senders: SENDERS })
  operations.close()
}

async function measureRound({ target, samples }, storePids) {
  const operations = operationsOf(target)
  const start = Math.floor(Math.random() * samples.length)
  const ask = (number) => operations.introspect(samples[(start + number) % samples.length])
  const shared = { pids: target.pids, stores: storePids, count: REQUESTS }
  const introspect = await measure({ ...shared, send: ask })
  const codes = []
  const authorize = await measure({ ...shared, send: async () => codes.push(await operations.authorize()) })
  const exchange = await measure({ ...shared, send: (number) => operations.exchange(codes[number]) })
  operations.close()
  return { introspect, authorize, exchange }
}

/** Bytes that a code and its exchange write to the log of Postgres, including background work. */
async function measureWal({ target }, databaseUrl) {
  const operations = operationsOf(target)
  const before = await walPosition(databaseUrl)
  await sendAll(async () => operations.exchange(await operations.authorize()), { count: REQUESTS, senders: SENDERS })
  operations.close()
  return (await walBytesSince(databaseUrl, before)) / REQUESTS
}

/** Codes that are not redeemed, to measure their size in Redis. */
async function leaveCodes({ target }) {
  const operations = operationsOf(target)
  await sendAll(operations.authorize, { count: 200, senders: SENDERS })
  operations.close()
}

async function measureExpiries(many, databaseUrl) {
  const expired = []
  const over = (hours) => expiryBucket(new Date()) - hours
  for (let time = 0; time < EXPIRIES; time++) {
    expired.push(await expire(many, { databaseUrl, bucket: over(3 + time), grantsToo: false, clean: dropBuckets }))
  }
  const clean = async (client) => {
    await dropBuckets(client)
    await deleteExpiredRows(databaseUrl)
  }
  return { expired, grants: await expire(many, { databaseUrl, bucket: over(3), grantsToo: true, clean }) }
}

async function expire({ target, samples, filling }, { databaseUrl, bucket, grantsToo, clean }) {
  const operations = operationsOf(target)
  const introspect = (number) => operations.introspect(samples[number % samples.length])
  const bucketFilling = {
    ...filling,
    hour: bucket,
    bucket,
    rows: Math.ceil(TOKENS / HOURS),
    users: Math.floor(TOKENS / 10)
  }
  const measured = await measureExpiry({ databaseUrl, filling: bucketFilling, grantsToo, introspect, clean })
  operations.close()
  return measured
}

async function endBusyUser({ target, ofBusyUser }, databaseUrl) {
  const operations = operationsOf(target)
  await operations.introspect(ofBusyUser)
  const from = performance.now()
  await administer(databaseUrl, `update users set generation = generation + 1 where user_id = '${target.user.id}'`)
  const milliseconds = performance.now() - from
  const isEnded = await operations.introspect(ofBusyUser).then(
    () => false,
    () => true
  )
  if (!isEnded) throw new Error('a token of the user whose tokens have ended is still active')
  operations.close()
  return { milliseconds, tokens: Math.floor(Math.ceil(TOKENS / HOURS) / 10) * HOURS }
}
