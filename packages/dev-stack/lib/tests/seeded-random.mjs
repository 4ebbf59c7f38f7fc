// Random choices of tests, the same in each run: a test that fails can be repeated.

/**
 * Mulberry32.
 * @param {number} seed
 */
export function randomFrom(seed) {
  let state = seed

  /** @returns {number} from 0 up to 1, without 1 */
  function random() {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** @param {number} limit */
  const below = (limit) => Math.floor(random() * limit)

  return {
    random,
    /** A whole number from 0 up to the limit, without it. */
    below,
    /**
     * @template Item
     * @param {readonly Item[]} list not empty
     * @returns {Item}
     */
    pick: (list) => /** @type {Item} */ (list[below(list.length)])
  }
}
