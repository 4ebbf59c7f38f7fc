// Finds tests that may end before their assertions: a `return` on a condition in the callback of a test or hook. Such a test
// counts as passed although it tested nothing. What needs a program has it in its file name (lib/tests/program-tests.mjs).
import { callerOf, childrenOf, parseSource } from './syntax-tree.mjs'

/** @typedef {import('./syntax-tree.mjs').Node} Node */

const CALLERS = new Set(['test', 'it', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach'])
const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration', 'ClassMethod'])
const CONDITIONS = new Set([
  'IfStatement',
  'SwitchStatement',
  'TryStatement',
  'WhileStatement',
  'DoWhileStatement',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement'
])

/** @param {string} source @returns the number of the line of each early return in this TypeScript source */
export function earlyReturns(source) {
  const { tree, lineOf } = parseSource(source)
  return callbacksIn(tree).flatMap((callback) => returnsIn(callback.body, false).map((at) => lineOf(at.span.start)))
}

/** The functions that are given to test, describe or a hook, also through `.each` and its relatives. @type {(node: Node) => Node[]} */
function callbacksIn(node) {
  const own = node?.type === 'CallExpression' && CALLERS.has(callerOf(node.callee) ?? '') ? node.arguments : []
  const callbacks = own.map(({ expression }) => expression).filter(({ type = '' }) => FUNCTIONS.has(type))
  return [...callbacks, ...childrenOf(node).flatMap(callbacksIn)]
}

/**
 * The returns on a condition that belong to this function and not to one inside it.
 * @type {(node: Node, isConditional: boolean) => Node[]}
 */
function returnsIn(node, isConditional) {
  if (FUNCTIONS.has(node?.type ?? '')) return []
  const own = isConditional && node?.type === 'ReturnStatement' ? [node] : []
  const inside = isConditional || CONDITIONS.has(node?.type ?? '')
  return [...own, ...childrenOf(node).flatMap((child) => returnsIn(child, inside))]
}
