import { boundedLabels, type LabelValues } from './bounded-labels.js'
import type { Labels, Sample } from './sample.js'

export type Histogram = { observe(value: number, ...values: string[]): void }

export type Buckets = { observe(value: number): void; samples(name: string, labels: Labels): Sample[] }

export function createBuckets(bounds: readonly number[]): Buckets {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    observe(value) {
      let index = 0
      while (index < bounds.length && value > (bounds[index] as number)) index += 1
      counts[index] = (counts[index] as number) + 1
      sum += value
    },
    samples(name, labels) {
      let total = 0
      const buckets = [...counts].map((count, index) => {
        total += count
        return {
          metricName: `${name}_bucket`,
          labels: { ...labels, le: String(bounds[index] ?? '+Inf') },
          value: total
        }
      })
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total }
      ]
    }
  }
}

export function createHistogram(
  name: string,
  bounds: readonly number[],
  lists: LabelValues
): Histogram & { samples(): Sample[] } {
  const labels = boundedLabels(lists)
  const series = new Map(labels.all.map(({ key, labels }) => [key, { labels, buckets: createBuckets(bounds) }]))

  return {
    observe(value, ...values) {
      const key = labels.keyOf(values)
      const known = series.get(key) ?? { labels: labels.labelsOf(values), buckets: createBuckets(bounds) }
      series.set(key, known)
      known.buckets.observe(value)
    },
    samples: () => [...series.values()].flatMap(({ labels, buckets }) => buckets.samples(name, labels))
  }
}
