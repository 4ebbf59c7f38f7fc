/**
 * An attempt that takes one place for each limit that counts it.
 * @property names of the limits
 * @property most failures that each of them allows in a window, in the same order
 * @property admit is called when the attempt has its places
 */
export type Entry = { names: readonly string[]; most: readonly number[]; arrival: number; admit: () => void }

type Places = { held: number; awaited: number; allowed: number }

/**
 * Attempts that are judged at this moment, and those that wait for it. Of each limit no more places are held than failures
 * are left, as far as this is known: all attempts that hold one may still fail. Pure: no clock, no I/O.
 */
export function createInFlight() {
  const places = new Map<string, Places>()
  // In the order of arrival.
  const queue: Entry[] = []

  const placesOf = (entry: Entry): Places[] =>
    entry.names.map((name, index) => {
      const known = places.get(name) ?? { held: 0, awaited: 0, allowed: entry.most[index] ?? 1 }
      places.set(name, known)
      return known
    })

  function forgetUnused(names: readonly string[]): void {
    for (const name of names) {
      const { held, awaited } = places.get(name) ?? { held: 0, awaited: 0 }
      if (held + awaited === 0) places.delete(name)
    }
  }

  /** Takes the places of an attempt if all of them are free. */
  function take(entry: Entry): boolean {
    const wanted = placesOf(entry)
    const isFree = wanted.every(({ held, allowed }) => held < allowed)
    if (isFree) for (const place of wanted) place.held += 1
    else forgetUnused(entry.names)
    return isFree
  }

  /** Puts an attempt where its arrival belongs: an attempt that was turned back is before all that came later. */
  function wait(entry: Entry): void {
    for (const place of placesOf(entry)) place.awaited += 1
    queue.splice(queue.findLastIndex(({ arrival }) => arrival < entry.arrival) + 1, 0, entry)
  }

  /** @returns false when the attempt did not wait */
  function stopWaiting(entry: Entry): boolean {
    const index = queue.indexOf(entry)
    if (index < 0) return false
    queue.splice(index, 1)
    for (const place of placesOf(entry)) place.awaited -= 1
    forgetUnused(entry.names)
    return true
  }

  function admitWaiting(): void {
    for (const entry of [...queue]) {
      if (!take(entry)) continue
      stopWaiting(entry)
      entry.admit()
    }
  }

  return {
    take,
    wait,
    stopWaiting,

    /** Gives the places of an attempt back; attempts that wait for them are admitted. */
    leave(entry: Entry): void {
      for (const place of placesOf(entry)) place.held -= 1
      forgetUnused(entry.names)
      admitWaiting()
    },

    /** Notes how many places a limit has: the failures that are left, by the newest look at its counter. */
    allow(name: string, allowed: number): void {
      const place = places.get(name)
      if (place !== undefined) place.allowed = allowed
    },

    /** How many attempts hold a place of this limit. */
    held: (name: string): number => places.get(name)?.held ?? 0,

    waiting: (): number => queue.length,

    /** How many limits are kept in memory: only those of attempts that are judged or wait. */
    size: (): number => places.size
  }
}
