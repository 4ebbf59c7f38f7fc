import type { Statement } from './postgres.js'

/** The values of the parameters of a text: one for each `:name` in it. */
export type ValuesOf<Text extends string> = { readonly [Name in NamesIn<Text>]: unknown }

/**
 * Defines a statement with named parameters (`:owner`; a name is letters only). Reads the text once: call it when a module is
 * loaded, not for each request. The compiler compares the names in the text with those of the values. It does not see names in
 * parts of the type `string`; the statement throws if a value for one of them is missing.
 * @param name of the prepared statement
 * @throws {TypeError} if the text has a numbered parameter
 */
export function defineStatement<const Text extends string>(
  name: string,
  text: Text
): (values: ValuesOf<Text>) => Statement {
  const { numbered, names } = numberParameters(name, text)
  return (values) => ({ name, text: numbered, values: names.map((parameter) => findValue(parameter, values, name)) })
}

/** Strings, quoted identifiers, comments and casts come first, so that a colon in them begins no name. */
const TOKENS =
  /'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|::|:(?<named>[a-zA-Z]+)|\$(?<number>\d+)/g

function numberParameters(name: string, text: string): { numbered: string; names: readonly string[] } {
  const names: string[] = []
  const numbered = text.replace(TOKENS, (token, ...rest) => {
    const { named, number } = rest.at(-1) as { named?: string; number?: string }
    if (number !== undefined) throw new TypeError(`${name}: ${token} has no name`)
    if (named === undefined) return token
    if (!names.includes(named)) names.push(named)
    return `$${names.indexOf(named) + 1}`
  })
  return { numbered, names }
}

/** A missing value would be sent as null. */
function findValue(parameter: string, values: object, name: string): unknown {
  if (!(parameter in values)) throw new TypeError(`${name}: no value for :${parameter}`)
  return (values as Record<string, unknown>)[parameter]
}

/** The names after single colons. Strings and comments are not excluded, so they must not contain a colon with a name. */
type NamesIn<Text extends string> = Text extends `${string}:${infer Rest}`
  ? Rest extends `:${infer AfterCast}`
    ? NamesIn<AfterCast>
    : Exclude<LettersAtStart<Rest>, ''> | NamesIn<Rest>
  : never

type LettersAtStart<Text extends string, Letters extends string = ''> = Text extends `${infer First}${infer Rest}`
  ? Uppercase<First> extends Lowercase<First>
    ? Letters
    : LettersAtStart<Rest, `${Letters}${First}`>
  : Letters
