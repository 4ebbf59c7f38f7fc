import { expect, test } from '@jest/globals'
import { watchDependencyStates } from '../../src/metrics/dependency-metrics.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { buildLogger } from '../../src/process/logger.js'
import { createStoreState } from '../../src/stores/store-state.js'
import { StoreUnavailable } from '../../src/stores/store-unavailable.js'
import { watchDependencies } from '../../src/stores/watch-dependencies.js'

function watchedState() {
  const lines: Record<string, unknown>[] = []
  const logger = buildLogger('test', 'info', { write: (line) => lines.push(JSON.parse(line)) })
  return { state: createStoreState('redis', logger), said: () => lines.map(({ event, reason }) => [event, reason]) }
}

test('the state of a store logs one line for each change; the first success is not a change', () => {
  const { state, said } = watchedState()
  expect(state.isUp()).toBeUndefined()
  state.probed()
  expect([state.isUp(), said()]).toEqual([true, []])
  for (let request = 0; request < 100; request++) state.failed({ reason: 'is full' })
  expect(state.isUp()).toBe(false)
  state.probed()
  state.probed()
  state.failed({ reason: 'is full' })
  expect(said()).toEqual([
    ['dependency_unavailable', 'is full'],
    ['dependency_available', undefined],
    ['dependency_unavailable', 'is full']
  ])
})

test('the state of a store logs each reason once, unless it is less precise than the last', () => {
  const { state, said } = watchedState()
  for (let request = 0; request < 10; request++) {
    state.failed({ reason: 'cannot be reached (ECONNREFUSED)' })
    state.failed({ reason: 'refuses the password' })
    state.failed({ reason: 'does not respond in time' })
  }
  expect(said()).toEqual([
    ['dependency_unavailable', 'cannot be reached (ECONNREFUSED)'],
    ['dependency_unavailable', 'refuses the password']
  ])
})

test('the gauge has no sample until the state is known, then 1 or 0', async () => {
  const metrics = createMetrics()
  const { state } = watchedState()
  watchDependencyStates(metrics, [state])
  const samples = async () => (await metrics.expose()).match(/^valetkey_dependency_up\{.*$/gm)
  expect(await samples()).toBeNull()
  state.probed()
  expect(await samples()).toEqual(['valetkey_dependency_up{dependency="redis"} 1'])
  state.failed({ reason: 'is full' })
  expect(await samples()).toEqual(['valetkey_dependency_up{dependency="redis"} 0'])
})

test('a probe sets the state, and rethrows its error for /readyz', async () => {
  const { state, said } = watchedState()
  let probe = async () => {}
  const { checks, start, stop } = watchDependencies(
    { redis: { needed: 'at start', probe: () => probe() } },
    { redis: state }
  )
  const { redis } = checks
  if (typeof redis !== 'object') throw new Error('the check has changed its form')
  await redis.probe()
  expect(state.isUp()).toBe(true)
  const failure = new StoreUnavailable('redis', new Error('OOM command not allowed'))
  probe = async () => {
    throw failure
  }
  await expect(redis.probe()).rejects.toBe(failure)
  expect(said()).toEqual([['dependency_unavailable', 'is full: maxmemory is reached']])
  probe = async () => {}
  start()
  await new Promise(setImmediate)
  expect(state.isUp()).toBe(true)
  stop()
})
