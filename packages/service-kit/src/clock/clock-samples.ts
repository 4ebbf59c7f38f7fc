/** One look at another clock: its time in milliseconds since 1970, and when we asked and heard it on our monotonic clock. */
export type ClockSample = { theirs: number; sentAt: number; receivedAt: number }

/** A minute of samples at one every five seconds. */
const KEPT = 12
/** By how much two clocks may drift apart while samples are kept. */
const DRIFT_MS = 50

/** What to add to our monotonic clock to get theirs, if both ways took the same time. */
export const offsetOf = ({ theirs, sentAt, receivedAt }: ClockSample): number => theirs - (sentAt + receivedAt) / 2

/** By how much `offsetOf` can be wrong: one way took all the time. */
const errorOf = ({ sentAt, receivedAt }: ClockSample): number => (receivedAt - sentAt) / 2

/**
 * The samples to keep, with a new one. Those that the new one contradicts are dropped: the other clock was set, or another
 * server answers now.
 */
export function addSample(kept: readonly ClockSample[], sample: ClockSample): readonly ClockSample[] {
  const agrees = (other: ClockSample) =>
    Math.abs(offsetOf(other) - offsetOf(sample)) <= errorOf(other) + errorOf(sample) + DRIFT_MS
  return [...kept.filter(agrees), sample].slice(-KEPT)
}

/** The sample that can be wrong by the least. */
export function bestOf(samples: readonly ClockSample[]): ClockSample | undefined {
  return samples.toSorted((one, other) => errorOf(one) - errorOf(other))[0]
}
