import { expect, test } from '@jest/globals'
import { createMetrics } from '../../src/metrics/metrics.js'

/** The lines of one metric, without comments. */
async function samplesOf(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  const lines = (await metrics.expose()).split('\n')
  return lines.filter((line) => line.startsWith(name))
}

test('a counter is exposed from the start, with help, type and 0 for each listed value', async () => {
  const metrics = createMetrics()
  metrics.counter({ name: 'x_total', help: 'Things.' }, { kind: ['good', 'bad'] })
  const text = await metrics.expose()
  expect(text).toContain('# HELP x_total Things.\n# TYPE x_total counter\n')
  expect(await samplesOf(metrics, 'x_total')).toEqual(['x_total{kind="good"} 0', 'x_total{kind="bad"} 0'])
})

test('a counter without labels', async () => {
  const metrics = createMetrics()
  const counter = metrics.counter({ name: 'x_total', help: 'Things.' })
  counter.add()
  counter.add()
  expect(await samplesOf(metrics, 'x_total')).toEqual(['x_total 2'])
})

test('unlisted values are counted as "other"', async () => {
  const metrics = createMetrics()
  const counter = metrics.counter({ name: 'x_total', help: 'Things.' }, { kind: ['good'], way: ['here', 'there'] })
  for (let number = 0; number < 1_000; number++) counter.add(`kind ${number}`, `way ${number}`)
  counter.add('good', 'there')
  counter.add('good', 'there here')
  expect(await samplesOf(metrics, 'x_total')).toEqual([
    'x_total{kind="good",way="here"} 0',
    'x_total{kind="good",way="there"} 1',
    'x_total{kind="other",way="other"} 1000',
    'x_total{kind="good",way="other"} 1'
  ])
})

test('a histogram counts a value in its bucket and all larger ones; a bound belongs to its bucket', async () => {
  const metrics = createMetrics()
  const histogram = metrics.histogram({ name: 'x_size', help: 'Sizes.' }, [1, 10], { kind: ['a'] })
  for (const size of [1, 2, 10, 11]) histogram.observe(size, 'a')
  expect(await samplesOf(metrics, 'x_size')).toEqual([
    'x_size_bucket{kind="a",le="1"} 1',
    'x_size_bucket{kind="a",le="10"} 3',
    'x_size_bucket{kind="a",le="+Inf"} 4',
    'x_size_sum{kind="a"} 24',
    'x_size_count{kind="a"} 4'
  ])
})

test('gauge, countElsewhere and summary read their values at a scrape only', async () => {
  const metrics = createMetrics()
  let looks = 0
  metrics.gauge({ name: 'x_now', help: 'Now.' }, () => {
    looks += 1
    return [{ labels: { state: 'idle' }, value: looks }]
  })
  metrics.countElsewhere({ name: 'x_total', help: 'All.' }, () => 7)
  metrics.summary({ name: 'x_seconds', help: 'Time.' }, () => ({ count: 2, sum: 0.5 }))
  expect(looks).toBe(0)
  expect(await samplesOf(metrics, 'x_now')).toEqual(['x_now{state="idle"} 1'])
  expect(await samplesOf(metrics, 'x_total')).toEqual(['x_total 7'])
  expect(await samplesOf(metrics, 'x_seconds')).toEqual(['x_seconds_sum 0.5', 'x_seconds_count 2'])
})

test('watchProcess exposes the standard names', async () => {
  const metrics = createMetrics()
  metrics.watchProcess()
  const text = await metrics.expose()
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds'
  ]) {
    expect(text).toContain(`# TYPE ${name} `)
  }
})
