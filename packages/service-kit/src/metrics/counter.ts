import { boundedLabels, type LabelValues } from './bounded-labels.js'
import type { Sample } from './sample.js'

export type { LabelValues } from './bounded-labels.js'

export type Counter = {
  /** Adds one. @param values in the order of the labels */
  add(...values: string[]): void
}

export function createCounter(lists: LabelValues): Counter & { samples(): Sample[] } {
  const labels = boundedLabels(lists)
  const hasOneLabel = Object.keys(lists).length === 1
  const counts = new Map(labels.all.map(({ key, labels }) => [key, { labels, value: 0 }]))

  return {
    add(...values) {
      // Fast path: a listed value of a single label is its own key.
      const [only = ''] = values
      const key = hasOneLabel && counts.has(only) ? only : labels.keyOf(values)
      const counted = counts.get(key)
      if (counted === undefined) counts.set(key, { labels: labels.labelsOf(values), value: 1 })
      else counted.value += 1
    },
    samples: () => [...counts.values()].map((counted) => ({ ...counted }))
  }
}
