import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { type Counter, createCounter, type LabelValues } from './counter.js'
import { createHistogram, type Histogram } from './histogram.js'
import type { Sample } from './sample.js'

export type MetricName = { name: string; help: string }

export type Metrics = ReturnType<typeof createMetrics>

/** Coarse, so that the measurement costs little. Shorter delays of the event loop do not matter. */
const EVENT_LOOP_PRECISION_MS = 20

/** Gauges of prom-client that are named like counters, which `promtool check metrics` rejects. Each is the sum of another gauge. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * The metrics of a process. Counting adds to a number in memory; labels, text and sums are computed at a scrape, so no
 * request waits for them.
 */
export function createMetrics() {
  const registry = new Registry()

  function add(type: 'counter' | 'gauge' | 'histogram' | 'summary', { name, help }: MetricName, read: () => Sample[]) {
    const get = async () => ({ name, help, type, values: read(), aggregator: 'sum' })
    // prom-client's own metric classes are not used: they hash the labels at each count. The registry only calls `get`.
    registry.registerMetric({ name, help, type, aggregator: 'sum', get, reset() {} } as unknown as Metric)
  }

  return {
    /** Listed label values are exposed from the start, with 0; any other value counts as `other`. */
    counter(metric: MetricName, labels: LabelValues = {}): Counter {
      const { samples, ...counter } = createCounter(labels)
      add('counter', metric, samples)
      return counter
    },

    /** @param bounds upper bounds of the buckets, ascending */
    histogram(metric: MetricName, bounds: readonly number[], labels: LabelValues = {}): Histogram {
      const { samples, ...histogram } = createHistogram(metric.name, bounds, labels)
      add('histogram', metric, samples)
      return histogram
    },

    /** A histogram whose buckets are kept by the caller. */
    histogramOf(metric: MetricName, read: () => Sample[]): void {
      add('histogram', metric, read)
    },

    /** A counter that is kept by the caller; `read` is called at each scrape. */
    countElsewhere(metric: MetricName, read: () => number | Sample[]): void {
      add('counter', metric, () => samplesOf(read()))
    },

    /** `read` is called at each scrape. */
    gauge(metric: MetricName, read: () => number | Sample[]): void {
      add('gauge', metric, () => samplesOf(read()))
    },

    /** Count and sum, for an average. */
    summary(metric: MetricName, read: () => { count: number; sum: number }): void {
      add('summary', metric, () => {
        const { count, sum } = read()
        const samples = Object.entries({ sum, count })
        return samples.map(([part, value]) => ({ metricName: `${metric.name}_${part}`, value }))
      })
    },

    /** Memory, processor time, event loop and garbage collection, under the standard names. To be called once. */
    watchProcess(): void {
      collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS })
      for (const name of MISNAMED) registry.removeSingleMetric(name)
    },

    contentType: registry.contentType,
    expose: (): Promise<string> => registry.metrics()
  }
}

function samplesOf(read: number | Sample[]): Sample[] {
  return typeof read === 'number' ? [{ value: read }] : read
}
