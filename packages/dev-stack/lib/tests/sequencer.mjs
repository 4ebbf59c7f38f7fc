// The order in which Jest starts the suites. Suites of e2e/ wait for processes and browsers, the others compute: both kinds in
// turn keep the processors busy. The longest come first, so that none is left alone at the end.
import sequencer from '@jest/test-sequencer'

/** @typedef {{ path: string }} Suite */

// Its types describe the module of CommonJS, from which Node takes the class itself.
const Sequencer = /** @type {typeof sequencer.default} */ (/** @type {unknown} */ (sequencer))

/** Their subjects are in other files, or they try many orders of events, so their size says nothing about their duration. */
const LONG = /\/e2e\/([^/]*-stack|conformance|pages|revocation-model|sign-in-providers)[.]/

/**
 * Jest calls it with `new`.
 * @param {ConstructorParameters<typeof Sequencer>[0]} options
 */
export default function InTurn(options) {
  const byDuration = new Sequencer(options)
  const sort = byDuration.sort.bind(byDuration)
  return Object.assign(byDuration, {
    /** @param {Parameters<typeof sort>[0]} suites */
    sort: async (suites) => inTurn(await sort(suites))
  })
}

/**
 * @template {Suite} Each
 * @param {Each[]} sorted
 * @returns {Each[]}
 */
export function inTurn(sorted) {
  const waiting = sorted.filter(({ path }) => path.includes('/e2e/'))
  const first = [...waiting.filter(isLong), ...waiting.filter((suite) => !isLong(suite))]
  const computing = sorted.filter(({ path }) => !path.includes('/e2e/'))
  const pairs = Array.from({ length: Math.max(first.length, computing.length) }, (_, index) => [
    ...first.slice(index, index + 1),
    ...computing.slice(index, index + 1)
  ])
  return pairs.flat()
}

/** @param {Suite} suite */
const isLong = ({ path }) => LONG.test(path)
