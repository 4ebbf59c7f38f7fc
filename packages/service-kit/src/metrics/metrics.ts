import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { type Counter, createCounter, type LabelValues } from './counter.js'
import { createHistogram, type Histogram } from './histogram.js'
import type { Sample } from './sample.js'

export type MetricName = { name: string; help: string }

export type Metrics = ReturnType<typeof createMetrics>

/** Coarse enough to cost nothing; what holds up an event loop for less than that holds up nobody. */
const EVENT_LOOP_PRECISION_MS = 20

/** Gauges of the library that are named like counters, which `promtool check metrics` refuses. Each is a sum of another gauge. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * What a process tells Prometheus. To count is to add to a number in memory: label values, text and sums are made when
 * somebody asks, so no request waits for any of it.
 */
export function createMetrics() {
  const registry = new Registry()

  function add(type: 'counter' | 'gauge' | 'histogram' | 'summary', { name, help }: MetricName, read: () => Sample[]) {
    const get = async () => ({ name, help, type, values: read(), aggregator: 'sum' })
    // The library's own metrics hash their labels at each count; it has all it needs of one that knows its samples.
    registry.registerMetric({ name, help, type, aggregator: 'sum', get, reset() {} } as unknown as Metric)
  }

  return {
    /** Counts under the label values that are listed, which are there from the start; any other counts as `other`. */
    counter(metric: MetricName, labels: LabelValues = {}): Counter {
      const { samples, ...counter } = createCounter(labels)
      add('counter', metric, samples)
      return counter
    },

    /** @param bounds the upper ends of its buckets, ascending */
    histogram(metric: MetricName, bounds: readonly number[], labels: LabelValues = {}): Histogram {
      const { samples, ...histogram } = createHistogram(metric.name, bounds, labels)
      add('histogram', metric, samples)
      return histogram
    },

    /** One whose buckets are kept elsewhere. */
    histogramOf(metric: MetricName, read: () => Sample[]): void {
      add('histogram', metric, read)
    },

    /** A number that is kept elsewhere and only grows; it is looked at when somebody asks. */
    countElsewhere(metric: MetricName, read: () => number | Sample[]): void {
      add('counter', metric, () => samplesOf(read()))
    },

    /** A number that goes up and down, looked at when somebody asks. */
    gauge(metric: MetricName, read: () => number | Sample[]): void {
      add('gauge', metric, () => samplesOf(read()))
    },

    /** How often, and how much in all: what an average needs. */
    summary(metric: MetricName, read: () => { count: number; sum: number }): void {
      add('summary', metric, () => {
        const { count, sum } = read()
        const samples = Object.entries({ sum, count })
        return samples.map(([part, value]) => ({ metricName: `${metric.name}_${part}`, value }))
      })
    },

    /** Memory, processor, event loop and garbage of this process, under the names that every dashboard knows. Once only. */
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
