// The slowest suites of a test run, which npm test prints before its last lines.

const LISTED = 10

/** @typedef {{ file: string, seconds: number }} Duration `file`: relative to the checkout */

/**
 * @param {readonly Duration[]} suites
 * @returns {Duration[]} the ten slowest, the slowest first
 */
export const slowestOf = (suites) => suites.toSorted((one, other) => other.seconds - one.seconds).slice(0, LISTED)

/**
 * @param {readonly Duration[]} suites
 * @returns one line for each of the ten slowest; none if fewer ran, because Jest has printed the time of each
 */
export function slowestLines(suites) {
  const slowest = slowestOf(suites)
  if (slowest.length < LISTED) return []
  const lines = slowest.map(({ file, seconds }) => `${Math.round(seconds).toString().padStart(6)} s  ${file}`)
  return ['Slowest suites:', ...lines]
}
