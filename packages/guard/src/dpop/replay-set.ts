import { hash, randomBytes } from 'node:crypto'
import { createHashTable, type HashTable } from './hash-table.js'

export type ReplaySet = {
  /** `full`: as many keys as fit were used, so the set cannot say whether this one was. */
  use(key: string): 'first' | 'used' | 'full'
  statistics(): ReplayStatistics
}

/** For metrics. */
export type ReplayStatistics = {
  /** Remembered proofs, and how many fit. */
  entries: number
  capacity: number
  bytes: number
  /** Proofs that were answered with 503, because the set was full. */
  refusedFull: number
}

/** An entry lives for the window and at most one slice more. */
const SLICES = 10

/**
 * Remembers keys for a time, in memory of a fixed size for each key. Keys that are used in the same slice of time are in one table,
 * which is dropped as a whole.
 * @param now milliseconds of a clock that never goes back
 */
export function createReplaySet(
  { windowMs, capacity }: { windowMs: number; capacity: number },
  now: () => number = () => performance.now()
): ReplaySet {
  // Without it, a client could choose keys that collide in the tables.
  const seed = randomBytes(16).toString('base64')
  const sliceMs = windowMs / SLICES
  let slices: { number: number; table: HashTable }[] = []
  let refusedFull = 0
  const sum = (member: 'size' | 'bytes') => slices.reduce((total, { table }) => total + table[member](), 0)

  function current(): HashTable {
    const number = Math.floor(now() / sliceMs)
    const newest = slices.at(-1)
    if (newest?.number === number) return newest.table
    const table = createHashTable()
    slices = [...slices.filter((slice) => slice.number >= number - SLICES), { number, table }]
    return table
  }

  return {
    use(key) {
      const words = wordsOf(hash('sha256', seed + key, 'buffer'))
      const newest = current()
      if (slices.some(({ table }) => table.has(words))) return 'used'
      if (sum('size') >= capacity) {
        refusedFull += 1
        return 'full'
      }
      newest.add(words)
      return 'first'
    },
    statistics: () => ({ entries: sum('size'), capacity, bytes: sum('bytes'), refusedFull })
  }
}

/** The first 16 bytes. */
function wordsOf(bytes: Buffer): Uint32Array {
  return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8), bytes.readUInt32LE(12))
}
