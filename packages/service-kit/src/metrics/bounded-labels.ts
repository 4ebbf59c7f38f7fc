import type { Labels } from './sample.js'

/** All values of each label. */
export type LabelValues = Readonly<Record<string, readonly string[]>>

const OTHER = 'other'

/**
 * Label values come from lists in the code. Any other value becomes `other`, so that requests from outside cannot create
 * time series.
 */
export function boundedLabels(lists: LabelValues) {
  const names = Object.keys(lists)
  const known = names.map((name) => new Set(lists[name]))
  const combinations = names.reduce<Labels[]>(
    (sofar, name) => sofar.flatMap((labels) => (lists[name] ?? []).map((value) => ({ ...labels, [name]: value }))),
    [{}]
  )

  function bounded(value: string | undefined, index: number): string {
    return value !== undefined && known[index]?.has(value) ? value : OTHER
  }

  /** @param values in the order of the lists */
  function keyOf(values: readonly string[]): string {
    return names.map((_name, index) => bounded(values[index], index)).join(' ')
  }

  return {
    keyOf,
    labelsOf: (values: readonly string[]): Labels =>
      Object.fromEntries(names.map((name, index) => [name, bounded(values[index], index)])),
    /** All combinations with their keys, without `other`. */
    all: combinations.map((labels) => ({ labels, key: keyOf(Object.values(labels)) }))
  }
}
