import path from 'node:path'
import handlebars from 'handlebars'
import { PARTIALS, type Templates } from '../../http/templates.js'

/** Names from the root of the data; `*` stands for the items of a list. */
export type DataPath = readonly string[]

/** A condition on the way to a use: the value must be there, or must not. */
export type Guard = { path: DataPath; isThere: boolean }

export type Use = {
  path: DataPath
  kind: 'value' | 'condition' | 'list' | 'object'
  guards: readonly Guard[]
  file: string
  line: number
}

/** A text of the message files. */
type MessageUse = { key: string; values: readonly string[]; file: string; line: number }

/** What a page with its partials reads from the data, and what it may not contain. */
export type PageUses = { uses: Use[]; messages: MessageUse[]; files: Set<string>; mistakes: Set<string> }

type Scope = { path: DataPath; hash: ReadonlyMap<string, DataPath | undefined> }
type Place = {
  templates: Templates
  found: PageUses
  file: string
  stack: readonly Scope[]
  guards: readonly Guard[]
  depth: number
}

const NO_HASH: Scope['hash'] = new Map()
const MOST_NESTED_PARTIALS = 10

/** @throws an error of Handlebars if a template has a mistake in its syntax */
export function readUses(templates: Templates, file: string): PageUses {
  const found: PageUses = { uses: [], messages: [], files: new Set(), mistakes: new Set() }
  walkFile({ templates, found, file, stack: [{ path: [], hash: NO_HASH }], guards: [], depth: 0 })
  return found
}

function walkFile(place: Place): void {
  place.found.files.add(place.file)
  walkProgram(handlebars.parse(place.templates.get(place.file) ?? ''), place)
}

function walkProgram(program: hbs.AST.Program | undefined, at: Place): void {
  for (const statement of program?.body ?? []) walk(statement, at)
}

function walk(statement: hbs.AST.Statement, at: Place): void {
  switch (statement.type) {
    case 'ContentStatement':
    case 'CommentStatement':
      return
    case 'MustacheStatement':
      walkMustache(statement as hbs.AST.MustacheStatement, at)
      return
    case 'BlockStatement':
      walkBlock(statement as hbs.AST.BlockStatement, at)
      return
    case 'PartialStatement':
      walkPartial(statement as hbs.AST.PartialStatement, at)
      return
    default:
      refuse(statement, at, 'decorators and partial blocks cannot be used')
  }
}

function walkMustache(mustache: hbs.AST.MustacheStatement, at: Place): void {
  const isBody = mustache.path.type === 'PathExpression' && nameOf(mustache.path) === 'body'
  if (mustache.escaped === false && !isBody) {
    refuse(mustache, at, `{{{${nameOf(mustache.path)}}}} inserts text without escaping it: use two braces`)
  }
  walkExpression(mustache, at)
}

/** A value, or a call of `t` or `text`. */
function walkExpression(call: hbs.AST.MustacheStatement | hbs.AST.SubExpression, at: Place): void {
  const name = nameOf(call.path)
  if (name === 't' || name === 'text') {
    walkMessage(call, at)
    return
  }
  if (call.params.length > 0 || call.hash !== undefined || call.type === 'SubExpression') {
    refuse(call, at, `there is no helper ${name}; the helpers are t, text, if, unless and each`)
    return
  }
  use(call.path, 'value', at)
}

function walkMessage({ params, hash, loc }: hbs.AST.MustacheStatement | hbs.AST.SubExpression, at: Place): void {
  const [key] = params
  const values = (hash?.pairs ?? []).map((pair) => pair.key)
  if (key?.type === 'StringLiteral') {
    const text = (key as hbs.AST.StringLiteral).value
    at.found.messages.push({ key: text, values, file: at.file, line: loc.start.line })
  } else walkArgument(key, at)
  for (const pair of hash?.pairs ?? []) walkArgument(pair.value, at)
}

function walkArgument(argument: hbs.AST.Expression | undefined, at: Place): void {
  if (argument?.type === 'PathExpression') use(argument, 'value', at)
  if (argument?.type === 'SubExpression') walkExpression(argument as hbs.AST.SubExpression, at)
}

function walkBlock(block: hbs.AST.BlockStatement, at: Place): void {
  const name = nameOf(block.path)
  if (!['if', 'unless', 'each'].includes(name) || block.params.length !== 1 || block.program.blockParams?.length) {
    refuse(block, at, `{{#${name}}} cannot be used: the blocks are if, unless and each, without "as"`)
    return
  }
  const [condition] = block.params
  if (condition === undefined) return
  const target = use(condition, name === 'each' ? 'list' : 'condition', at)
  const guarded = (isThere: boolean): Place =>
    target === undefined ? at : { ...at, guards: [...at.guards, { path: target, isThere }] }
  const inner = guarded(name !== 'unless')
  const items = { path: [...(target ?? []), '*'], hash: NO_HASH }
  walkProgram(block.program, name === 'each' ? { ...inner, stack: [...at.stack, items] } : inner)
  walkProgram(block.inverse, guarded(name === 'unless'))
}

function walkPartial(partial: hbs.AST.PartialStatement, at: Place): void {
  const name = partial.name.type === 'PathExpression' ? nameOf(partial.name) : ''
  const file = path.posix.join(PARTIALS, `${name}.hbs`)
  if (!at.templates.has(file)) {
    refuse(partial, at, `there is no partial ${name || 'with a computed name'}`)
    return
  }
  if (at.depth === MOST_NESTED_PARTIALS) {
    refuse(partial, at, `the partial ${name} includes itself`)
    return
  }
  const [context] = partial.params
  const base = context === undefined ? at.stack.at(-1) : { path: use(context, 'object', at) ?? [], hash: NO_HASH }
  const given = (partial.hash?.pairs ?? []).map(({ key, value }) => {
    walkArgument(value, at)
    return [key, value.type === 'PathExpression' ? resolve(value as hbs.AST.PathExpression, at) : undefined] as const
  })
  const scope = { path: base?.path ?? [], hash: new Map([...(base?.hash ?? NO_HASH), ...given]) }
  walkFile({ ...at, file, stack: [scope], depth: at.depth + 1 })
}

function use(expression: hbs.AST.Node, kind: Use['kind'], at: Place): DataPath | undefined {
  if (expression.type === 'SubExpression') {
    walkExpression(expression as hbs.AST.SubExpression, at)
    return undefined
  }
  if (expression.type !== 'PathExpression') return undefined
  const target = resolve(expression as hbs.AST.PathExpression, at)
  if (target === undefined) return undefined
  const isLength = target.at(-1) === 'length'
  const of = isLength ? target.slice(0, -1) : target
  const { line } = expression.loc.start
  at.found.uses.push({ path: of, kind: isLength ? 'list' : kind, guards: at.guards, file: at.file, line })
  return of
}

function refuse(node: hbs.AST.Node, { file, found }: Place, what: string): void {
  found.mistakes.add(`${file}: line ${node.loc.start.line}: ${what}`)
}

/** @returns undefined for what is no data: `@index`, a literal that a partial is given */
function resolve(expression: hbs.AST.PathExpression, { stack }: Place): DataPath | undefined {
  const parts = expression.parts.map(String)
  if (expression.data) return parts[0] === 'root' ? parts.slice(1) : undefined
  const scope = stack.at(-1 - expression.depth)
  const [first = ''] = parts
  if (scope === undefined) return parts
  if (scope.hash.has(first)) {
    const given = scope.hash.get(first)
    return given === undefined ? undefined : [...given, ...parts.slice(1)]
  }
  return [...scope.path, ...parts]
}

function nameOf(expression: hbs.AST.Node): string {
  return expression.type === 'PathExpression' ? String((expression as hbs.AST.PathExpression).original) : ''
}
