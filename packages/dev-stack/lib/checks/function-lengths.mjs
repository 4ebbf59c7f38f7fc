// Finds functions that are too long. A function with a name inside another one counts for itself, so that the length of a
// factory is not that of its methods. A template, such as an SQL text, counts as one line.
import { childrenOf, parseSource } from './syntax-tree.mjs'

/** @typedef {import('./syntax-tree.mjs').Node} Node */

const METHODS = new Set([
  'FunctionDeclaration',
  'MethodProperty',
  'ClassMethod',
  'PrivateMethod',
  'Constructor',
  'GetterProperty',
  'SetterProperty'
])
const EXPRESSIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression'])
/** What gives its name to the function that is its value. */
const NAMING = new Set(['VariableDeclarator', 'KeyValueProperty', 'ClassProperty', 'AssignmentExpression'])

const EMPTY = /^\s*($|\/\/|\/?\*)/

/**
 * @param {string} source
 * @param {number} most allowed lines
 * @returns the first line and the number of lines of each longer function; empty lines and comments do not count
 */
export function longFunctions(source, most) {
  const { tree, lineOf } = parseSource(source)
  const text = source.split('\n')
  /** @type {{ line: number, lines: number }[]} */
  const found = []

  /**
   * Adds the long functions of a node and returns the lines in it that do not count outside of it.
   * @type {(node: Node, isNamed: boolean) => number[]}
   */
  function measure(node, isNamed) {
    const { type = '', span } = node
    const uncounted = childrenOf(node).flatMap((child) => measure(child, NAMING.has(type)))
    const isFunction = METHODS.has(type) || EXPRESSIONS.has(type)
    if (!isFunction && type !== 'TemplateLiteral') return uncounted
    const line = lineOf(span.start)
    const rest = Array.from({ length: lineOf(span.end) - line }, (_, index) => line + 1 + index)
    if (!isFunction) return rest
    const counted = rest.filter((one) => !uncounted.includes(one) && !EMPTY.test(text[one - 1] ?? ''))
    const lines = counted.length + 1
    if (lines > most) found.push({ line, lines })
    return isNamed || METHODS.has(type) ? rest : uncounted
  }

  measure(tree, false)
  return found
}
