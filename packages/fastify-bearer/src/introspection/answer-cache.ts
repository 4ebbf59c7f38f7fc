export type CacheLimits = {
  entries: number
  /** An estimate of what is kept, in bytes. */
  bytes: number
}

export type AnswerCache<Entry> = {
  get(key: string): Entry | undefined
  /** @param size of the entry, in bytes */
  set(key: string, entry: Entry, size: number): void
  delete(key: string): void
  size(): { entries: number; bytes: number }
}

/** Key, map node and bookkeeping of one entry. */
const OVERHEAD_BYTES = 400

/** A map that forgets what was asked for longest ago when it has too many entries or bytes. */
export function createAnswerCache<Entry>(limits: CacheLimits): AnswerCache<Entry> {
  // A Map iterates in the order of insertion; whatever is used moves to the end.
  const kept = new Map<string, { entry: Entry; bytes: number }>()
  let bytes = 0

  function remove(key: string): void {
    bytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  return {
    get(key) {
      const found = kept.get(key)
      if (found === undefined) return undefined
      kept.delete(key)
      kept.set(key, found)
      return found.entry
    },
    set(key, entry, size) {
      remove(key)
      const cost = size + OVERHEAD_BYTES
      if (cost > limits.bytes) return
      kept.set(key, { entry, bytes: cost })
      bytes += cost
      for (const oldest of kept.keys()) {
        if (kept.size <= limits.entries && bytes <= limits.bytes) break
        remove(oldest)
      }
    },
    delete: remove,
    size: () => ({ entries: kept.size, bytes })
  }
}
