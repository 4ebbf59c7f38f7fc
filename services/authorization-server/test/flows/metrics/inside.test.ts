import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createMetrics } from '@valetkey/service-kit'
import { createServerMetrics } from '../../../src/platform/metrics/server-metrics.js'
import { watchPasswordQueue } from '../../../src/platform/metrics/watch.js'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import { createLimiter, TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import {
  accountChangeLimit,
  accountLinkLimit,
  appFormLimit,
  clientAuthenticationLimit,
  newClientLimit,
  operatorAuthenticationLimit,
  providerAddressLimit,
  resourceServerAuthenticationLimit,
  signInLimits
} from '../../../src/platform/rate-limits/rules.js'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters } from '../../support/counters.js'
import { startChannel, subscribe } from '../../support/event-stream.js'
import { basic, introspect, PASSWORD, post } from '../../support/flow.js'
import { atTime } from '../../support/postgres-clock.js'
import { samplesOf } from '../../support/samples.js'
import { obtainTokens } from '../../support/tokens.js'

let server: TestServer
let client: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

const until = async (name: string, isThere: (value: number) => boolean) => {
  while (!isThere((await samplesOf(server))[name] ?? Number.NaN)) await sleep(10)
}

test('the LISTEN connection: not verified before it is open, then verified, with its subscribers and events', async () => {
  expect(await samplesOf(server)).toMatchObject({ valetkey_listen_verified: 0, valetkey_feed_subscribers: 0 })
  const bypassed = (await samplesOf(server))['valetkey_registry_bypasses_total{table=clients}']
  expect(bypassed).toBeGreaterThan(0)
  await startChannel(server)
  expect(await samplesOf(server)).toMatchObject({ valetkey_listen_verified: 1, valetkey_listen_losses_total: 0 })
  expect((await samplesOf(server)).valetkey_listen_proof_age_seconds).toBeLessThan(1)
  const stream = await subscribe(server, resourceServer)
  expect((await samplesOf(server)).valetkey_feed_subscribers).toBe(1)
  const { access_token } = await obtainTokens(server, client)
  await post(server, '/oauth/revoke', { token: access_token }, basic(client))
  await until('valetkey_feed_revocations_total', (heard) => heard === 1)
  stream.request.destroy()
  await until('valetkey_feed_subscribers', (subscribers) => subscribers === 0)
  await server.deps.channel.close()
  expect((await samplesOf(server)).valetkey_listen_verified).toBe(0)
})

test('concurrent introspections: one statement, and the size of its batch', async () => {
  const { access_token } = await obtainTokens(server, client)
  await introspect(server, resourceServer, access_token)
  const name = (part: string) => `valetkey_statement_batch_size_${part}{statement=introspect}`
  const before = await samplesOf(server)
  await Promise.all(Array.from({ length: 20 }, () => introspect(server, resourceServer, access_token)))
  const after = await samplesOf(server)
  expect((after[name('sum')] ?? 0) - (before[name('sum')] ?? 0)).toBe(20)
  expect((after[name('count')] ?? 0) - (before[name('count')] ?? 0)).toBeLessThan(20)
})

test('the stored tokens, as of the last run of housekeeping', async () => {
  await obtainTokens(server, client)
  const [row] = await server.database.query<{ count: number }>({
    name: '',
    text: 'select count(*)::int as count from access_tokens',
    values: []
  })
  expect(row?.count).toBeGreaterThan(0)
  // A connection reports its inserts later. If that is after an analyze, they count twice until the next one.
  let stored: number | undefined
  while (stored !== row?.count) {
    await server.database.query({ name: '', text: 'analyze', values: [] })
    await server.deps.buckets.keep(3600)
    stored = (await samplesOf(server)).valetkey_access_tokens_stored
  }
  // A day later all of them have expired.
  const tomorrow = createAccessTokenBuckets(atTime(server.database, new Date(Date.now() + 86_400_000)))
  await tomorrow.keep(3600)
  expect(tomorrow.estimate()).toBe(0)
})

test('refusals of rate limits count under the kind of the limit, and every kind is known', async () => {
  const watched = createServerMetrics()
  const limiter = createLimiter(createAttemptCounterStore(server.redis), 0.000001, watched.limiterRefused)
  const ofCallers = [
    accountLinkLimit,
    providerAddressLimit,
    clientAuthenticationLimit,
    resourceServerAuthenticationLimit,
    operatorAuthenticationLimit,
    appFormLimit,
    accountChangeLimit,
    newClientLimit
  ]
  const kinds = [...signInLimits('a', '::1', false), ...ofCallers.map((limitOf) => limitOf('::1'))]
  for (const limit of kinds) {
    await limiter.count(limit)
    await expect(limiter.count(limit)).rejects.toThrow(TooManyAttempts)
  }
  await clearCounters(server)
  const lines = (await watched.metrics.expose()).matchAll(/^valetkey_limiter_refusals_total\{limit="(.+)"\} (\d+)$/gm)
  expect([...lines].map(([, kind, count]) => [kind, count])).toEqual(
    kinds.map(({ name }) => [name.split(':', 1)[0], '1']).toSpliced(3, 0, ['sign-in-waiting', '0'])
  )
})

test('the password queue: running, waiting and refused', async () => {
  const metrics = createMetrics()
  const queue = createPasswordQueue({ atOnce: 1, waiting: 1, milliseconds: 10_000 })
  watchPasswordQueue(metrics, queue)
  let end = () => {}
  const held = () =>
    new Promise<void>((resolve) => {
      end = resolve
    })
  const running = queue.run(held)
  await sleep(0)
  const waiting = queue.run(async () => {})
  await expect(queue.run(held)).rejects.toThrow()
  const text = await metrics.expose()
  expect(text).toContain('valetkey_password_hashes{state="running"} 1\nvaletkey_password_hashes{state="waiting"} 1\n')
  expect(text).toContain('valetkey_password_hashes_refused_total 1\n')
  end()
  await Promise.all([running, waiting])
})

test('/metrics and /readyz are only on the operator listener', async () => {
  for (const other of [server.publicServer, server.internalServer])
    expect((await other.inject('/metrics')).statusCode).toBe(404)
})
