import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  countReplays,
  exchangeAt,
  exchangeThroughStall,
  isActive,
  repeatAfterOutage,
  replayAll,
  serverAt,
  summarize
} from './system/load/exchange-stream.mjs'
import { type PreparedApp, prepareApp } from './system/load/prepare-app.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'
import { pausePostgres, pauseRedis, tellRedis } from './system/stores/pause-stores.mjs'

const ANSWERED_WITHIN_MS = 5_000
/** A slow machine needs more time: this many times the slowest response without a stall is added. */
const CONTROLS = 2
const PER_SECOND = 20
/** The number of codes that are exchanged again, half of them after Redis lost them. */
const REPLAYED = 6

let cluster: Cluster
let app: PreparedApp
let client: Record<'client_id' | 'client_secret', string>
let nextCode: () => Promise<string>

beforeAll(async () => {
  cluster = await startCluster({ settings: { CODE_TTL: '29' } })
  app = await prepareApp(cluster)
})
beforeEach(async () => {
  ;({ client, nextCode } = await app.addClient())
})
afterAll(() => cluster?.stop())

/** The limit of responses during a stall, on this machine now. */
async function limitMs(at: Cluster): Promise<number> {
  const codes = await Promise.all(Array.from({ length: PER_SECOND }, nextCode))
  const answers = await Promise.all(codes.map((code) => exchangeAt(at, { client, code })))
  return ANSWERED_WITHIN_MS + CONTROLS * Math.max(...answers.map(({ milliseconds }) => milliseconds))
}

async function expectReplaysDetected(at: Cluster, pairs: { code: string; token: string }[]): Promise<void> {
  const { resourceServer } = app
  const [known, forgotten] = [pairs.slice(0, REPLAYED / 2), pairs.slice(-REPLAYED / 2)]
  expect(await replayAll(at, { client, resourceServer, pairs: known })).toEqual([])
  await tellRedis(at, 'FLUSHDB')
  expect(await replayAll(at, { client, resourceServer, pairs: forgotten })).toEqual([])
}

describe.each([
  { store: 'Postgres', seconds: 4, pause: pausePostgres },
  { store: 'Postgres', seconds: 8, pause: pausePostgres },
  { store: 'Redis', seconds: 4, pause: pauseRedis },
  { store: 'Redis', seconds: 8, pause: pauseRedis }
])('$store stalls for $seconds s during exchanges (contract "Authorization code")', ({ seconds, pause }) => {
  test('every request gets a response within 5 s, every repeated exchange gets tokens, and only real replays are recorded', async () => {
    const at = cluster
    const { body } = await exchangeAt(at, { client, code: await nextCode() })
    const refreshToken = JSON.parse(body).refresh_token
    const refresh = (turn: number) =>
      sendRequest(serverAt(at, turn).publicPort, 'POST', '/token', {
        by: client,
        form: { grant_type: 'refresh_token', refresh_token: refreshToken }
      })
    const [limit, replays] = [await limitMs(at), await countReplays(at)]
    let refreshing: ReturnType<typeof repeatAfterOutage> | undefined
    const stall = async () => {
      const resume = await pause(at)
      refreshing = repeatAfterOutage(0, refresh)
      return resume
    }
    const stream = await exchangeThroughStall(at, { client, nextCode, perSecond: PER_SECOND, seconds, stall })
    const refreshed = (await refreshing) ?? []

    const { outages, slowestMs, refusals, pairs } = summarize(stream)
    expect(outages).toBeGreaterThan(0)
    expect(Math.max(slowestMs, ...refreshed.map(({ milliseconds }) => milliseconds))).toBeLessThan(limit)
    expect(refusals).toEqual([])
    expect(refreshed.at(-1)?.status).toBe(200)
    const tokens = [JSON.parse(refreshed.at(-1)?.body ?? '{}').access_token, ...pairs.map(({ token }) => token)]
    for (const token of tokens) expect(await isActive(at, app.resourceServer, token)).toBe(true)
    await expectReplaysDetected(at, pairs)
    // Audit events are written in order, in batches. Those of the replays exist, so the earlier ones exist, too.
    expect(await countReplays(at)).toBe(replays + REPLAYED)
  })
})

test.each([
  { store: 'postgres', words: /store_exchange/ },
  { store: 'redis', words: /evalsha/i }
] as const)(
  'responses of $store to exchanges are lost: each client gets tokens, and no replay is recorded',
  async (lost) => {
    const at = cluster
    const proxies = at.authorizationServers.map((server) => server[lost.store])
    const [limit, replays] = [await limitMs(at), await countReplays(at)]
    let count = 0
    const stall = async () => {
      for (const proxy of proxies) proxy.loseAnswers(lost.words)
      return () => {
        count = proxies.reduce((sum, proxy) => sum + proxy.stopLosing(), 0)
      }
    }
    const stream = await exchangeThroughStall(at, { client, nextCode, perSecond: PER_SECOND, seconds: 2, stall })
    const { slowestMs, refusals, pairs } = summarize(stream)
    expect(count).toBeGreaterThan(0)
    expect(slowestMs).toBeLessThan(limit)
    expect(refusals).toEqual([])
    for (const { token } of pairs) expect(await isActive(at, app.resourceServer, token)).toBe(true)
    await expectReplaysDetected(at, pairs)
    expect(await countReplays(at)).toBe(replays + REPLAYED)
  }
)
