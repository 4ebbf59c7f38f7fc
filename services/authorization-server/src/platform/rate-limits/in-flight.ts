/**
 * An attempt that takes one place in each limit that counts it.
 * @property names of the limits
 * @property most failures that each limit allows in a window, in the same order
 * @property admit is called when the attempt has its places
 */
export type Entry = { names: readonly string[]; most: readonly number[]; arrival: number; admit: () => void }

export type InFlight = ReturnType<typeof createInFlight>

/**
 * The attempts that are evaluated now, and those that wait. In each limit, no more places are taken than failures are left, as
 * far as known, because every attempt with a place may fail. Pure: no clock, no I/O.
 */
export function createInFlight() {
  const places = createPlaces()
  /** The queue is in the order of arrival. */
  const queue: Entry[] = []

  /** @returns false if the attempt was not waiting */
  function stopWaiting(entry: Entry): boolean {
    const index = queue.indexOf(entry)
    if (index < 0) return false
    queue.splice(index, 1)
    for (const place of places.of(entry)) place.waiting -= 1
    places.forgetUnused(entry.names)
    return true
  }

  return {
    /** Takes the places of an attempt if all of them are free. */
    take: places.take,

    /** Adds an attempt to the queue by its arrival: a rejected attempt comes before later ones. */
    wait(entry: Entry): void {
      for (const place of places.of(entry)) place.waiting += 1
      queue.splice(queue.findLastIndex(({ arrival }) => arrival < entry.arrival) + 1, 0, entry)
    },

    stopWaiting,

    /** Releases the places of an attempt and admits attempts that wait for them. */
    leave(entry: Entry): void {
      for (const place of places.of(entry)) place.taken -= 1
      places.forgetUnused(entry.names)
      for (const queued of [...queue]) {
        if (!places.take(queued)) continue
        stopWaiting(queued)
        queued.admit()
      }
    },

    /** Sets the number of places of a limit: the failures that are left. */
    allow: places.allow,

    /** Number of attempts with a place in this limit. */
    taken: places.taken,

    waiting: (): number => queue.length,

    /** Number of limits in memory: only those of attempts that are evaluated or wait. */
    size: places.size
  }
}

type Places = { taken: number; waiting: number; allowed: number }

/** The places of each limit that has an attempt in flight. */
function createPlaces() {
  const places = new Map<string, Places>()

  const of = (entry: Entry): Places[] =>
    entry.names.map((name, index) => {
      const known = places.get(name) ?? { taken: 0, waiting: 0, allowed: entry.most[index] ?? 1 }
      places.set(name, known)
      return known
    })

  function forgetUnused(names: readonly string[]): void {
    for (const name of names) {
      const { taken, waiting } = places.get(name) ?? { taken: 0, waiting: 0 }
      if (taken + waiting === 0) places.delete(name)
    }
  }

  return {
    of,
    forgetUnused,
    take(entry: Entry): boolean {
      const wanted = of(entry)
      const isFree = wanted.every(({ taken, allowed }) => taken < allowed)
      if (isFree) for (const place of wanted) place.taken += 1
      else forgetUnused(entry.names)
      return isFree
    },
    allow(name: string, allowed: number): void {
      const place = places.get(name)
      if (place !== undefined) place.allowed = allowed
    },
    taken: (name: string): number => places.get(name)?.taken ?? 0,
    size: (): number => places.size
  }
}
