export type FetchRates = {
  /** `CLIENT_ID_METADATA_MAX_PER_MINUTE` */
  perMinute: number
  perOriginPerMinute: number
  /** One user must not use up the fetches of all. */
  perUserPerMinute: number
  atOnce: number
  perUserAtOnce: number
  perOriginAtOnce: number
}

/** @property isKnown a user has allowed the client of the document before */
export type WantedFetch = { origin: string; userId: string; isKnown: boolean }

export type TakenFetch = { kind: 'taken'; release(): void } | { kind: 'refused'; retryAfterSeconds: number }

const MINUTE_MS = 60_000
const RETRY_SOON = 5

/**
 * Limits of this process on fetches. Only fetches that begin are counted, so the limits also bound this memory.
 * @param monotonicNow milliseconds
 */
export function createFetchLimits(rates: FetchRates, monotonicNow: () => number = () => performance.now()) {
  const running = new Map<string, number>()
  let inMinute = new Map<string, number>()
  let minuteEnd = 0

  function count(map: Map<string, number>, key: string, change: number): void {
    const next = (map.get(key) ?? 0) + change
    if (next > 0) map.set(key, next)
    else map.delete(key)
  }

  return {
    begin({ origin, userId, isKnown }: WantedFetch): TakenFetch {
      const now = monotonicNow()
      if (now >= minuteEnd) {
        inMinute = new Map()
        minuteEnd = now + MINUTE_MS
      }
      // Known clients are counted apart: made-up paths of their origin must not use up their fetches.
      const kind = isKnown ? 'known' : 'new'
      const places = [
        [kind, rates.perMinute, rates.atOnce],
        [`${kind} of ${origin}`, rates.perOriginPerMinute, rates.perOriginAtOnce],
        [`user ${userId}`, rates.perUserPerMinute, rates.perUserAtOnce]
      ] as const
      const retryAfterSeconds = Math.ceil((minuteEnd - now) / 1_000)
      if (places.some(([key, most]) => (inMinute.get(key) ?? 0) >= most)) return { kind: 'refused', retryAfterSeconds }
      if (places.some(([key, , most]) => (running.get(key) ?? 0) >= most)) {
        return { kind: 'refused', retryAfterSeconds: RETRY_SOON }
      }
      for (const [key] of places) {
        count(inMinute, key, 1)
        count(running, key, 1)
      }
      return {
        kind: 'taken',
        release() {
          for (const [key] of places) count(running, key, -1)
        }
      }
    }
  }
}

export type FetchLimits = ReturnType<typeof createFetchLimits>
