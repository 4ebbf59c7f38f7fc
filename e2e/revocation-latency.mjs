// Measures how long a revoked token is still accepted: by three resource servers and an Express API, all with a cache, at two
// authorization servers, under load. With --bound, each token is bound to a key, and each request has a proof of it (RFC 9449).
// Not run by npm test.   node e2e/revocation-latency.mjs [--revocations 1000] [--load 200] [--at-once 1] [--gate 100] [--bound]
// Ends with 1 if the 99th percentile is over the gate, in milliseconds; 3000 is the limit of the contract on any machine.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { makeProof, newProofKey } from '../packages/dev-stack/lib/client/dpop-proof.mjs'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { startCluster } from './system/start-cluster.mjs'

const TIME_LIMIT_MINUTES = 15

const { values } = parseArgs({
  options: {
    revocations: { type: 'string', default: '1000' },
    load: { type: 'string', default: '200' },
    'at-once': { type: 'string', default: '1' },
    gate: { type: 'string', default: '100' },
    bound: { type: 'boolean', default: false }
  }
})
const [revocations, load, atOnce, gateMs] = ['revocations', 'load', 'at-once', 'gate'].map((name) =>
  Number(values[name])
)
const areInRange =
  revocations >= 10 && revocations <= 100_000 && load >= 0 && load <= 10_000 && atOnce >= 1 && atOnce <= 100
if (!(areInRange && gateMs >= 10 && gateMs <= 3_000)) {
  console.error('--revocations 10 to 100000; --load 0 to 10000, a second; --at-once 1 to 100; --gate 10 to 3000 ms.')
  process.exit(2)
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 })
// One user has all grants: the oldest of them must not end.
const settings = { LIMITS_FACTOR: '1000' }
const proofKey = values.bound ? newProofKey() : undefined
const dpopSetting = { DPOP: values.bound ? 'required' : 'off' }
const cluster = await startCluster({
  authorizationServers: 2,
  resourceServers: 3,
  cacheSeconds: 60,
  settings: { ...settings, DPOP: values.bound ? 'allowed' : 'off' },
  apiSettings: dpopSetting
})
const expressApi = await startExpressApi()
const apis = { 'resource server': cluster.resourceServers.map(({ url }) => url), Express: [expressApi.url] }
const urls = Object.values(apis).flat()
let stopped
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
setTimeout(() => finish(1, [`stopped after ${TIME_LIMIT_MINUTES} minutes`]), TIME_LIMIT_MINUTES * 60_000).unref()

try {
  await finish(...(await measure()))
} catch (error) {
  await finish(1, [error.stack])
}

async function measure() {
  const source = await createTokenSource(cluster, { proofKey })
  const tokens = []
  for (let count = 0; count < revocations; count++) tokens.push(await source.nextToken())
  const background = startLoad(await source.nextToken())
  const sinceResponse = emptyLists()
  const sinceSent = emptyLists()
  const startedAt = performance.now()
  while (tokens.length > 0) await Promise.all(tokens.splice(0, atOnce).map(revokeOne))
  const seconds = (performance.now() - startedAt) / 1_000
  const { served, failed } = background.stop()
  const p99 = Math.max(...Object.values(sinceSent).map((list) => percentile(list, 0.99)))
  return [
    p99 <= gateMs ? 0 : 1,
    [
      `${revocations} revocations of ${values.bound ? 'bound' : 'bearer'} tokens on two authorization servers, ${atOnce} at a time, each watched at three resource servers and an Express API`,
      `load beside them: ${Math.round(served / seconds)} requests a second, ${failed} without 200`,
      ...Object.keys(apis).flatMap((kind) => [
        `${kind}, from the response of the revocation to the first 401: ${summary(sinceResponse[kind])}`,
        `${kind}, from the sending of the revocation: ${summary(sinceSent[kind])}`
      ]),
      `p99 from the sending is ${p99 <= gateMs ? 'within' : 'over'} ${gateMs} ms`
    ]
  ]

  async function revokeOne(token, index) {
    const { authorizationServers } = cluster
    // The token is in the cache of each API, and is used from there.
    for (const url of urls) for (let time = 0; time < 2; time++) await expectStatus(url, token, 200)
    const sentAt = performance.now()
    const { publicPort } = authorizationServers[index % authorizationServers.length]
    await source.revoke(token, `http://127.0.0.1:${publicPort}`)
    const respondedAt = performance.now()
    const watch = async (kind, url) => {
      while ((await status(url, token)) !== 401) await wait(5)
      sinceResponse[kind].push(performance.now() - respondedAt)
      sinceSent[kind].push(performance.now() - sentAt)
    }
    await Promise.all(Object.entries(apis).flatMap(([kind, own]) => own.map((url) => watch(kind, url))))
  }
}

function emptyLists() {
  return Object.fromEntries(Object.keys(apis).map((kind) => [kind, []]))
}

async function startExpressApi() {
  const { issuer, resource, authorizationServers, valetkey } = cluster
  const dpop = values.bound ? ['--dpop', 'required'] : []
  const registration = [...dpop, '--name', 'express', '--audience', resource, '--json']
  const credential = await valetkey(['resource-servers', 'create', ...registration])
  const internal = `http://127.0.0.1:${authorizationServers[0].internalPort}`
  const child = fork(new URL('revocation-latency/express-api.mjs', import.meta.url), {
    env: {
      PATH: process.env.PATH,
      ISSUER: issuer,
      RESOURCE_URL: resource,
      INTROSPECTION_URL: `${internal}/introspect`,
      REVOCATIONS_URL: `${internal}/revocations`,
      CLIENT_ID: credential.client_id,
      CLIENT_SECRET: credential.client_secret,
      ...dpopSetting
    }
  })
  const [{ port }] = await once(child, 'message')
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() }
}

/** Sends requests with another token at a constant rate, spread over all APIs. */
function startLoad(token) {
  let served = 0
  let failed = 0
  let turn = 0
  const timer = setInterval(() => {
    for (let count = 0; count < load / 50; count++) {
      status(urls[turn++ % urls.length], token).then(
        (answered) => {
          if (answered === 200) served += 1
          else failed += 1
        },
        () => {
          failed += 1
        }
      )
    }
  }, 20)
  return {
    stop() {
      clearInterval(timer)
      return { served, failed }
    }
  }
}

async function expectStatus(url, token, expected) {
  const answered = await status(url, token)
  if (answered !== expected) throw new Error(`${url} answered ${answered}, not ${expected}`)
}

function status(url, token) {
  return new Promise((resolve, reject) => {
    request(`${url}/v1/files`, { headers: headersOf(token), agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
      .on('error', reject)
      .end()
  })
}

function headersOf(token) {
  if (proofKey === undefined) return { authorization: `Bearer ${token}` }
  const proof = makeProof({ key: proofKey, accessToken: token, url: `${cluster.resource}/v1/files` })
  return { authorization: `DPoP ${token}`, dpop: proof }
}

function summary(milliseconds) {
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => percentile(milliseconds, part).toFixed(1))
  return `median ${p50} ms, p99 ${p99} ms, longest ${most} ms (${milliseconds.length} times)`
}

function percentile(numbers, part) {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)]
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  agent.destroy()
  expressApi.stop()
  await cluster.stop()
  console.log(lines.join('\n'))
  process.exit(code)
}
