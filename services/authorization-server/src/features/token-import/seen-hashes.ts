const LEAST_PLACES = 1024

/**
 * Remembers hashes with the number of their line, in at most 48 bytes each: a file can have millions. Two hashes whose first 64 bits
 * are equal count as one; SHA-256 makes that as unlikely as to need no other check.
 */
export function createSeenHashes() {
  let keys = new BigUint64Array(LEAST_PLACES)
  let lines = new Uint32Array(LEAST_PLACES)
  let count = 0

  /** The place of a key, or the empty place where it belongs. */
  function placeOf(key: bigint): number {
    let place = Number(key % BigInt(keys.length))
    while (lines[place] !== 0 && keys[place] !== key) place = (place + 1) % keys.length
    return place
  }

  function grow(): void {
    const [oldKeys, oldLines] = [keys, lines]
    keys = new BigUint64Array(oldKeys.length * 2)
    lines = new Uint32Array(oldKeys.length * 2)
    for (const [index, line] of oldLines.entries())
      if (line !== 0) set(placeOf(oldKeys[index] ?? 0n), oldKeys[index] ?? 0n, line)
  }

  function set(place: number, key: bigint, line: number): void {
    keys[place] = key
    lines[place] = line
  }

  return {
    /** @param line from 1 @returns the earlier line with this hash; undefined: there is none, and the hash is remembered */
    add(hash: Buffer, line: number): number | undefined {
      const key = hash.readBigUInt64BE()
      const place = placeOf(key)
      if (lines[place] !== 0) return lines[place]
      set(place, key, line)
      count += 1
      if (count * 2 > keys.length) grow()
      return undefined
    }
  }
}

export type SeenHashes = ReturnType<typeof createSeenHashes>
