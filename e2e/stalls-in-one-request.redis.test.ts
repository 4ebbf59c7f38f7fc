import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createApp } from '../packages/dev-stack/lib/client/app.mjs'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { registerClient } from '../packages/dev-stack/lib/services/register.mjs'
import { countReplays, exchangeAt, isActive, repeatAfterOutage } from './system/load/exchange-stream.mjs'
import { type PreparedApp, prepareApp } from './system/load/prepare-app.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'
import { pausePostgres, pauseRedis } from './system/stores/pause-stores.mjs'

const ANSWERED_WITHIN_MS = 5_000
/** A slow machine needs more time: this many times the slowest response without a stall is added. */
const CONTROLS = 2

let cluster: Cluster
let app: PreparedApp
let operator: { headers: Record<string, string> }

beforeAll(async () => {
  cluster = await startCluster({ authorizationServers: 1, settings: { CODE_TTL: '29' } })
  app = await prepareApp(cluster)
  const { operator_key: key } = await cluster.valetkey(['operator-keys', 'create', '--name', 'test', '--json'])
  operator = { headers: { authorization: `Bearer ${key}` } }
})
afterAll(() => cluster?.stop())

/** The path would not do, because the request with a wrong secret has the same. */
const EXCHANGE = 'exchange'

type Seen = { path: string; status: number; milliseconds: number }

/** Every kind of request, prepared to be sent at the same moment. */
async function prepareRequests(at: Cluster) {
  const { issuer } = at
  const [{ publicPort, internalPort, operatorPort } = { publicPort: 0, internalPort: 0, operatorPort: 0 }] =
    at.authorizationServers
  const { client, nextCode } = await app.addClient()
  const [refreshable, revocable] = [await pairOf(nextCode), await pairOf(nextCode)]
  const code = await nextCode()
  const seen: Seen[] = []
  const note = (answer: Seen) => seen.push(answer)
  const post = async (port: number, path: string, form: Record<string, string>, by = client) => {
    const { status, milliseconds } = await sendRequest(port, 'POST', path, { by, form })
    note({ path: form.grant_type ?? path, status, milliseconds })
  }

  // A client without consent in a signed-in browser, and a browser without a session.
  const other = await registerClient(at.valetkey, { name: 'Other', options: [] })
  const asking = createApp({ issuer, ...other }).authorizeUrl()
  const [newcomer, user] = [createHttpBrowser(issuer, {}, note), createHttpBrowser(issuer, {}, note)]
  const signIn = await newcomer.open(asking)
  const consent = await user.submit(await user.open(asking), app.account)
  const visitor = createHttpBrowser(issuer, { cookie: user.cookie() }, note)
  // How slow this machine is now.
  const slowestMs = Math.max(...seen.map(({ milliseconds }) => milliseconds))
  seen.length = 0

  async function pairOf(next: () => Promise<string>): Promise<Record<string, string>> {
    return JSON.parse((await exchangeAt(at, { client, code: await next() })).body)
  }
  const send = [
    async () => {
      const { status, milliseconds } = await exchangeAt(at, { client, code })
      note({ path: EXCHANGE, status, milliseconds })
    },
    () => post(publicPort, '/token', { grant_type: 'refresh_token', refresh_token: refreshable.refresh_token ?? '' }),
    () => post(publicPort, '/oauth/revoke', { token: revocable.refresh_token ?? '' }),
    () => post(internalPort, '/introspect', { token: revocable.access_token ?? '' }, app.resourceServer),
    () => post(publicPort, '/token', { grant_type: 'authorization_code' }, { ...client, client_secret: 'wrong' }),
    () => newcomer.submit(signIn, app.account),
    () => user.submit(consent, { decision: 'allow' }),
    () => visitor.open(`${issuer}/account/apps`),
    async () => {
      const { status, milliseconds } = await sendRequest(operatorPort, 'GET', '/admin/clients', operator)
      note({ path: '/admin/clients', status, milliseconds })
    }
  ]
  return { client, code, seen, send, slowestMs }
}

const pauseBoth = async (at: Cluster) => {
  const resumes = [await pausePostgres(at), await pauseRedis(at)]
  return () => {
    for (const resume of resumes) resume()
  }
}

test.each([
  { name: 'both stores', first: pauseBoth, afterMs: 0, second: undefined },
  { name: 'Redis for 0.9 s and then Postgres', first: pauseRedis, afterMs: 900, second: pausePostgres },
  { name: 'Redis for 1.4 s and then Postgres', first: pauseRedis, afterMs: 1_400, second: pausePostgres },
  { name: 'Postgres for 2.3 s and then Redis', first: pausePostgres, afterMs: 2_300, second: pauseRedis },
  // Redis has the used code, and Postgres commits its exchange after the 503.
  { name: 'Postgres and 1.2 s later also Redis', first: pausePostgres, afterMs: 1_200, second: pauseRedis, both: true }
])('$name stall during one request: each response within 5 s, and the exchange can be repeated', async (stall) => {
  const at = cluster
  const { client, code, seen, send, slowestMs } = await prepareRequests(at)
  const resumes = [await stall.first(at)]
  try {
    const answered = Promise.all(send.map((each) => each()))
    await wait(stall.afterMs)
    if (stall.second !== undefined) {
      resumes.push(await stall.second(at))
      if (stall.both !== true) resumes.shift()?.()
    }
    await answered
  } finally {
    for (const resume of resumes) resume()
  }

  const limitMs = ANSWERED_WITHIN_MS + CONTROLS * slowestMs
  expect(seen.filter(({ milliseconds }) => milliseconds >= limitMs)).toEqual([])
  expect(seen.length).toBeGreaterThanOrEqual(send.length)
  const exchanged = seen.find(({ path }) => path === EXCHANGE)
  if (exchanged?.status !== 200) {
    const answers = await repeatAfterOutage(0, (turn) => exchangeAt(at, { client, code, turn }))
    expect(answers.at(-1)?.status).toBe(200)
    const { access_token: token } = JSON.parse(answers.at(-1)?.body ?? '{}')
    expect(await isActive(at, app.resourceServer, token)).toBe(true)
  }
  expect(await countReplays(at)).toBe(0)
})
