/**
 * A set of values of 16 bytes, which are hashes. `Set` would need five times the memory, and its growth to a million entries would stop
 * the process for a tenth of a second.
 */
export type HashTable = {
  has(value: Uint32Array): boolean
  add(value: Uint32Array): void
  size(): number
  bytes(): number
}

const WORDS = 4
const LEAST_PLACES = 256
/** Of the places that are taken, before the table grows. */
const MOST_LOAD = 0.75

function isTaken(words: Uint32Array, at: number): boolean {
  return words[at] !== 0 || words[at + 1] !== 0 || words[at + 2] !== 0 || words[at + 3] !== 0
}

export function createHashTable(): HashTable {
  let places = LEAST_PLACES
  let words = new Uint32Array(places * WORDS)
  let size = 0

  /** The place of the value, or the free place where it belongs (linear probing). A free place has only zeros. */
  function find(value: Uint32Array, offset = 0): number {
    let place = (value[offset] as number) & (places - 1)
    while (!isFree(place) && !isAt(place, value, offset)) place = (place + 1) & (places - 1)
    return place
  }

  const isFree = (place: number): boolean => !isTaken(words, place * WORDS)

  function isAt(place: number, value: Uint32Array, offset: number): boolean {
    for (let word = 0; word < WORDS; word++) if (words[place * WORDS + word] !== value[offset + word]) return false
    return true
  }

  function put(value: Uint32Array, offset: number): void {
    const at = find(value, offset) * WORDS
    for (let word = 0; word < WORDS; word++) words[at + word] = value[offset + word] as number
  }

  function grow(): void {
    const former = words
    places *= 2
    words = new Uint32Array(places * WORDS)
    for (let offset = 0; offset < former.length; offset += WORDS) if (isTaken(former, offset)) put(former, offset)
  }

  return {
    has: (value) => !isFree(find(value)),
    add(value) {
      if (size + 1 > places * MOST_LOAD) grow()
      put(value, 0)
      size += 1
    },
    size: () => size,
    bytes: () => words.byteLength
  }
}
