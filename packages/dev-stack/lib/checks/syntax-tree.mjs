// Reads TypeScript and JavaScript for the checks of `npm run check:limits`.
import { parseSync } from '@swc/core'

/**
 * A node of the syntax tree, or a list of them.
 * @typedef {{ type?: string, span: { start: number, end: number }, callee: Node, object: Node, tag: Node, value?: string,
 *   body: Node, arguments: { expression: Node }[], quasis: { raw: string }[] }} Node
 */

/**
 * @param {string} source in TypeScript
 * @returns the tree; `lineOf` has the number of the line of a position
 */
export function parseSource(source) {
  const { body, span } = parseSync(source, { syntax: 'typescript', target: 'es2022' })
  // The parser counts bytes, and goes on counting from file to file.
  const bytes = Buffer.from(source)
  const start = span.end - bytes.length
  /** @param {number} position */
  const lineOf = (position) =>
    bytes
      .subarray(0, position - start)
      .toString()
      .split('\n').length
  return { tree: /** @type {Node} */ (/** @type {unknown} */ (body)), lineOf }
}

/** @param {Node} node */
export const childrenOf = (node) =>
  /** @type {Node[]} */ (Object.values(node ?? {}).filter((value) => typeof value === 'object' && value !== null))

/** The first name of `test`, `test.each(rows)` and `describe.skip.each`. @type {(callee: Node) => string | undefined} */
export function callerOf(callee) {
  if (callee.type === 'Identifier') return callee.value
  if (callee.type === 'MemberExpression') return callerOf(callee.object)
  if (callee.type === 'CallExpression') return callerOf(callee.callee)
  return callee.type === 'TaggedTemplateExpression' ? callerOf(callee.tag) : undefined
}
