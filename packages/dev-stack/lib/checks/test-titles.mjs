// Finds tests whose full title, with that of each `describe` around it, begins with a verb instead of its subject.
import { callerOf, childrenOf, parseSource } from './syntax-tree.mjs'

/** @typedef {import('./syntax-tree.mjs').Node} Node */

const CALLERS = new Set(['test', 'it', 'describe'])

/** First words of titles. Verbs that are plural nouns as well, such as `names`, are left out. */
const VERBS = new Set(
  (
    'is are was were has have had does do did can cannot may must will not never ' +
    'accepts adds admits allows asks begins breaks causes closes comes completes confirms connects contains continues counts ' +
    'creates decides decrypts deletes describes detects differs disables drops ends enters erases escapes evaluates exists ' +
    'expires fails fetches finds gets gives goes ignores imports keeps leads leaves lets loses makes omits opens passes prints ' +
    'publishes receives redirects refuses registers rejects removes renames requires resolves responds returns revokes runs ' +
    'says sends sets signs skips starts stays stops takes tells throws trims waits warns withdraws writes'
  ).split(' ')
)

/** @param {string} source of a test file @returns the line of each title */
export function titlesWithoutSubject(source) {
  const { tree, lineOf } = parseSource(source)
  return outermostCalls(tree)
    .filter(({ arguments: [title] }) => VERBS.has(firstWordOf(title?.expression)))
    .map(({ span }) => lineOf(span.start))
}

/** The calls of `test` and `describe` that no other `describe` contains. @type {(node: Node) => Node[]} */
function outermostCalls(node) {
  const isTest = node.type === 'CallExpression' && CALLERS.has(callerOf(node.callee) ?? '') && node.arguments.length > 1
  return isTest ? [node] : childrenOf(node).flatMap(outermostCalls)
}

/** @param {Node | undefined} title */
function firstWordOf(title) {
  const text = title?.type === 'TemplateLiteral' ? title.quasis[0]?.raw : title?.value
  return typeof text === 'string' ? (text.match(/^\w+/)?.[0] ?? '') : ''
}
