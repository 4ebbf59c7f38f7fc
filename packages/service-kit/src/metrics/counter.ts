import { boundedLabels, type LabelValues } from './bounded-labels.js'
import type { Sample } from './sample.js'

export type { LabelValues } from './bounded-labels.js'

export type Counter = {
  /** One more. @param values in the order in which the labels were listed */
  add(...values: string[]): void
}

export function createCounter(lists: LabelValues): Counter & { samples(): Sample[] } {
  const labels = boundedLabels(lists)
  const isOne = Object.keys(lists).length === 1
  const counts = new Map(labels.all.map(({ key, labels }) => [key, { labels, value: 0 }]))

  return {
    add(...values) {
      // The value that has just come is, as a rule, one of the list, and then its own key.
      const [only = ''] = values
      const key = isOne && counts.has(only) ? only : labels.keyOf(values)
      const counted = counts.get(key)
      if (counted === undefined) counts.set(key, { labels: labels.labelsOf(values), value: 1 })
      else counted.value += 1
    },
    samples: () => [...counts.values()].map((counted) => ({ ...counted }))
  }
}
