import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096

/**
 * `randomBytes` of node:crypto for many small pieces: a call for 32 bytes costs more than one for 4096, so they are asked
 * for in advance. Each byte is handed out once, and erased here when it is.
 */
export function createRandomPool(fill: (bytes: Buffer) => unknown = randomFillSync): (size: number) => Uint8Array {
  // Of its own memory: slices of Node's shared one would lie beside what others have.
  const pool = Buffer.alloc(POOL_BYTES)
  let next = POOL_BYTES
  return (size) => {
    const bytes = new Uint8Array(size)
    let got = 0
    while (got < size) {
      if (next === POOL_BYTES) {
        fill(pool)
        next = 0
      }
      const end = Math.min(next + size - got, POOL_BYTES)
      bytes.set(pool.subarray(next, end), got)
      pool.fill(0, next, end)
      got += end - next
      next = end
    }
    return bytes
  }
}
