/** One reading of another clock, in milliseconds since 1970, with the times of request and response on our monotonic clock. */
export type ClockSample = { theirs: number; sentAt: number; receivedAt: number }

/** One minute of samples, at one every five seconds. */
const MAX_SAMPLES = 12
/** How far two clocks may drift apart within that minute. */
const DRIFT_MS = 50

/** What to add to our monotonic clock to get theirs, if both directions took equally long. */
export const offsetOf = ({ theirs, sentAt, receivedAt }: ClockSample): number => theirs - (sentAt + receivedAt) / 2

/** Maximum error of `offsetOf`: one direction took all the time. */
const errorOf = ({ sentAt, receivedAt }: ClockSample): number => (receivedAt - sentAt) / 2

/**
 * Adds a sample. Removes samples that contradict the new one, because the other clock was set, or another server responds
 * now.
 */
export function addSample(samples: readonly ClockSample[], sample: ClockSample): readonly ClockSample[] {
  const agrees = (other: ClockSample) =>
    Math.abs(offsetOf(other) - offsetOf(sample)) <= errorOf(other) + errorOf(sample) + DRIFT_MS
  return [...samples.filter(agrees), sample].slice(-MAX_SAMPLES)
}

/** The sample with the smallest maximum error. */
export function bestOf(samples: readonly ClockSample[]): ClockSample | undefined {
  return samples.toSorted((one, other) => errorOf(one) - errorOf(other))[0]
}
