import { afterEach, expect, test } from '@jest/globals'
import { IntrospectionUnavailableError, type IntrospectorStatistics } from '@valetkey/guard'
import { createMetrics } from '@valetkey/service-kit'
import { watchGuard } from '../../../src/platform/metrics/watch-guard.js'
import { healthChecks } from '../../../src/start.js'
import { authorization, build, closeApp, get, live } from '../../support/files-app.js'

afterEach(closeApp)

const failures = { unreachable: 1, timeout: 2, bad_status: 3, unreadable_response: 4, resting: 5 }
const calls = { ended: 4, milliseconds: 2_500, tokens: 9, failures }
const cache = { hits: 3, misses: 2, bypasses: 1, entries: 5, bytes: 600 }

async function exposed(feed: IntrospectorStatistics['feed']): Promise<string[]> {
  const metrics = createMetrics()
  watchGuard(metrics, { statistics: () => ({ cache, calls, feed }) })
  return (await metrics.expose()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

test('the metrics contain the statistics of the guard', async () => {
  expect(await exposed({ isVerified: true, leaseAgeMs: 500, roundTripMs: 3, losses: 1 })).toEqual([
    'valetkey_token_cache_requests_total{result="hit"} 3',
    'valetkey_token_cache_requests_total{result="miss"} 2',
    'valetkey_token_cache_requests_total{result="bypass"} 1',
    'valetkey_token_cache_entries 5',
    'valetkey_token_cache_bytes 600',
    'valetkey_introspection_call_seconds_sum 2.5',
    'valetkey_introspection_call_seconds_count 4',
    'valetkey_introspection_call_tokens_total 9',
    ...Object.entries(failures).map(
      ([reason, count]) => `valetkey_introspection_failures_total{reason="${reason}"} ${count}`
    ),
    'valetkey_feed_lease_held 1',
    'valetkey_feed_lease_age_seconds 0.5',
    'valetkey_feed_round_trip_seconds 0.003',
    'valetkey_feed_losses_total 1'
  ])
})

test('before the first proof the lease is 0 without an age; without a feed there are no feed metrics', async () => {
  const unverified = { isVerified: false, leaseAgeMs: undefined, roundTripMs: undefined, losses: 0 }
  const feed = (lines: string[]) => lines.filter((line) => line.startsWith('valetkey_feed'))
  expect(feed(await exposed(unverified))).toEqual(['valetkey_feed_lease_held 0', 'valetkey_feed_losses_total 0'])
  expect(feed(await exposed(undefined))).toEqual([])
})

test('the metrics are on the operator listener only', async () => {
  const { operatorServer } = build()
  await get('/v1/files')
  await get('/v1/files', { authorization: 'Bearer made-up' })
  await get('/v1/files?access_token=made-up')
  await get('/made-up')
  const { body } = await operatorServer.inject('/metrics')
  const count = 'valetkey_http_request_duration_seconds_count'
  for (const line of [
    `${count}{listener="public",route_group="files",route="/v1/files",method="GET",status="2xx"} 1`,
    `${count}{listener="public",route_group="files",route="/v1/files",method="GET",status="4xx"} 2`,
    `${count}{listener="public",route_group="unknown",route="unknown",method="GET",status="4xx"} 1`,
    'valetkey_access_tokens_refused_total{reason="never_issued"} 1',
    'valetkey_access_tokens_refused_total{reason="token_in_query"} 1'
  ]) {
    expect(body).toContain(`${line}\n`)
  }
  expect(body).not.toContain('made-up')
  expect((await get('/metrics', { authorization })).statusCode).toBe(404)
})

test('readiness: introspection counts until its first success; the feed never; a wrong clock always', async () => {
  let isRight = true
  const clock = {
    mustAgree: async () => {
      if (!isRight) throw new Error('an hour ahead')
    }
  }
  let isThere = false
  const introspector = {
    introspect: async () => {
      if (!isThere) throw new IntrospectionUnavailableError('unreachable', 'refused')
      return live
    },
    statistics: () => ({
      cache,
      calls,
      feed: { isVerified: false, leaseAgeMs: undefined, roundTripMs: undefined, losses: 0 }
    }),
    cacheState: () => 'waiting' as const,
    close: async () => {}
  }
  const { operatorServer } = build({ health: healthChecks({ check: async () => {} }, introspector, clock) })
  const readiness = async () => {
    const answer = await operatorServer.inject('/readyz')
    return [answer.statusCode, answer.json().checks]
  }
  expect(await readiness()).toEqual([
    503,
    { postgres: 'ok', clock: 'ok', introspection: 'unavailable', feed: 'unavailable' }
  ])
  isThere = true
  expect(await readiness()).toEqual([200, { postgres: 'ok', clock: 'ok', introspection: 'ok', feed: 'unavailable' }])
  isThere = false
  expect(await readiness()).toEqual([
    200,
    { postgres: 'ok', clock: 'ok', introspection: 'unavailable', feed: 'unavailable' }
  ])
  isRight = false
  expect(await readiness()).toMatchObject([503, { postgres: 'ok', clock: 'unavailable' }])
})
