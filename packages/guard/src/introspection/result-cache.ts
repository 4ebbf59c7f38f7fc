export type CacheLimits = {
  entries: number
  /** Estimated. */
  bytes: number
}

export type ResultCache<Entry> = {
  get(key: string): Entry | undefined
  /** @param size of the entry, in bytes */
  set(key: string, entry: Entry, size: number): void
  delete(key: string): void
  size(): { entries: number; bytes: number }
}

/** Estimated size of the key and the map node of one entry. */
const OVERHEAD_BYTES = 400

/** A map that removes the least recently used entries when it has too many entries or bytes. */
export function createResultCache<Entry>(limits: CacheLimits): ResultCache<Entry> {
  // A Map iterates in the order of insertion. `get` moves an entry to the end, so the least recently used is the first.
  const stored = new Map<string, { entry: Entry; bytes: number }>()
  let bytes = 0

  function remove(key: string): void {
    bytes -= stored.get(key)?.bytes ?? 0
    stored.delete(key)
  }

  return {
    get(key) {
      const found = stored.get(key)
      if (found === undefined) return undefined
      stored.delete(key)
      stored.set(key, found)
      return found.entry
    },
    set(key, entry, size) {
      remove(key)
      const cost = size + OVERHEAD_BYTES
      if (cost > limits.bytes) return
      stored.set(key, { entry, bytes: cost })
      bytes += cost
      for (const oldest of stored.keys()) {
        if (stored.size <= limits.entries && bytes <= limits.bytes) break
        remove(oldest)
      }
    },
    delete: remove,
    size: () => ({ entries: stored.size, bytes })
  }
}
