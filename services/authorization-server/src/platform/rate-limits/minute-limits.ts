/** A name, and how often it may be taken; undefined: without limit. */
export type MinuteLimit = readonly [name: string, most: number | undefined]

/** Counts what one minute allows. Memory is bounded by the limits: only what was allowed is stored. */
export function openMinuteLimits() {
  const taken = new Map<string, number>()

  /** Takes one from each of these limits, or from none if one of them is reached. */
  return function take(...limits: readonly MinuteLimit[]): boolean {
    if (limits.some(([name, most]) => most !== undefined && (taken.get(name) ?? 0) >= most)) return false
    for (const [name, most] of limits) if (most !== undefined) taken.set(name, (taken.get(name) ?? 0) + 1)
    return true
  }
}
