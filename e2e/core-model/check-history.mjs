// Checks a history of concurrent operations for linearisability (Wing and Gong 1993, with the memory of Lowe 2017): whether an
// order exists in which each operation takes effect at one moment between its start and its end, as a sequential model allows.

/**
 * @template State
 * @typedef {object} Operation
 * @property {string} name
 * @property {number} start place of the start in the order of all starts and ends
 * @property {number} end place of the end. Infinity: the operation may take effect at any later time
 * @property {boolean} [optional] the operation may also have no effect
 * @property {(state: State) => State[]} apply the possible states after it; none: its outcome is impossible in this state
 */
/**
 * @template State
 * @typedef {{ kind: 'linearisable' } | { kind: 'undecided' } | { kind: 'impossible', order: string[], stuck: string[], state: State }}
 *   Verdict `order`: the longest order that was found; `stuck`: the operations of which one had to be next; `state`: before them
 */

/** A history that needs more steps is undecided. */
const MOST_STEPS = 300_000

/**
 * @template State
 * @param {State} initial values of JSON
 * @param {readonly Operation<State>[]} history
 * @param {number} [mostSteps]
 * @returns {Verdict<State>}
 */
export function checkHistory(initial, history, mostSteps = MOST_STEPS) {
  const operations = history.toSorted((one, other) => one.start - other.start)
  const required = operations.reduce((all, { optional }, index) => (optional ? all : all | (1n << BigInt(index))), 0n)
  /** Pairs of done operations and state from which no order was found. */
  const failed = new Set()
  /** @type {Node<State>[]} */
  const open = [{ done: 0n, state: initial, latestStart: 0, last: undefined }]
  let furthest = open[0]
  for (let steps = 0; ; steps++) {
    const node = open.pop()
    if (node === undefined)
      return explain(operations, furthest ?? { done: 0n, state: initial, latestStart: 0, last: undefined })
    if ((node.done & required) === required) return { kind: 'linearisable' }
    if (steps === mostSteps) return { kind: 'undecided' }
    const key = `${node.done.toString(36)} ${JSON.stringify(node.state)}`
    if (failed.has(key)) continue
    failed.add(key)
    if (depthOf(node, required) > depthOf(furthest, required)) furthest = node
    // The last one is tried first: a required operation with an early end.
    for (const index of candidates(operations, node).toReversed()) open.push(...after(operations, node, index))
  }
}

/**
 * @template State
 * @typedef {{ done: bigint, state: State, latestStart: number, last: { name: string, before: Node<State> } | undefined }} Node
 *   `latestStart`: the latest start of a done operation
 */

/**
 * The operations that may be next, those with an early end first: none starts after the end of a required operation that is not done,
 * and none has ended before the start of a done one.
 * @template State
 * @param {readonly Operation<State>[]} operations
 * @param {Node<State>} node
 * @returns {number[]}
 */
function candidates(operations, { done, latestStart }) {
  /** @type {number[]} */
  const waiting = []
  let firstEnd = Number.POSITIVE_INFINITY
  for (const [index, { start, end, optional }] of operations.entries()) {
    if (start > firstEnd) break
    if ((done >> BigInt(index)) & 1n) continue
    waiting.push(index)
    if (!optional) firstEnd = Math.min(firstEnd, end)
  }
  const endOf = (/** @type {number} */ index) => operations[index]?.end ?? 0
  return waiting
    .filter((index) => (operations[index]?.start ?? 0) <= firstEnd && endOf(index) >= latestStart)
    .toSorted(
      (one, other) =>
        Number(operations[one]?.optional ?? 0) - Number(operations[other]?.optional ?? 0) || endOf(one) - endOf(other)
    )
}

/**
 * @template State
 * @param {readonly Operation<State>[]} operations
 * @param {Node<State>} before
 * @param {number} index of the operation that is next
 * @returns {Node<State>[]}
 */
function after(operations, before, index) {
  const operation = operations[index]
  if (operation === undefined) return []
  const { name, start, apply } = operation
  const done = before.done | (1n << BigInt(index))
  const latestStart = Math.max(before.latestStart, start)
  return apply(before.state).map((state) => ({ done, state, latestStart, last: { name, before } }))
}

/**
 * @param {Node<unknown> | undefined} node
 * @param {bigint} required
 */
function depthOf(node, required) {
  let depth = 0
  for (let rest = (node?.done ?? 0n) & required; rest > 0n; rest &= rest - 1n) depth++
  return depth
}

/**
 * @template State
 * @param {readonly Operation<State>[]} operations
 * @param {Node<State>} node
 * @returns {Verdict<State>}
 */
function explain(operations, node) {
  /** @type {string[]} */
  const order = []
  for (let at = node.last; at !== undefined; at = at.before.last) order.unshift(at.name)
  const stuck = candidates(operations, node).map((index) => operations[index]?.name ?? '')
  return { kind: 'impossible', order, stuck, state: node.state }
}
