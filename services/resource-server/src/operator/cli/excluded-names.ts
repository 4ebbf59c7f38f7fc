import { CommandFailure } from './exit.js'

export type ExcludedName = (name: string) => boolean

/** Metadata that macOS writes beside files of other file systems, and lock files of Microsoft Office. */
export const EXCLUDED_BY_DEFAULT = ['._*', '~$*']

/** @throws {CommandFailure} for a pattern that can never match a name */
export function excludedNames(patterns: readonly string[]): ExcludedName {
  const parts = patterns.map(partsOf)
  return (name) => parts.some((pattern) => matches(pattern, [...name]))
}

/** One character, or any number of them. */
type Part = ((character: string) => boolean) | 'any'

const PART = /\\(.)|(\*)|(\?)|\[([!^]?)(\]?[^\]]*)\]|(.)/gsu

/** `*` matches any characters, also none and a leading dot; `?` one; `[abc]`, `[a-z]` and `[!a]` one of a set; `\` quotes. */
function partsOf(pattern: string): Part[] {
  if (pattern === '' || pattern.includes('/')) {
    throw new CommandFailure(
      'usage',
      `--exclude takes a pattern for one name, without slashes: ${JSON.stringify(pattern)}`
    )
  }
  return [...pattern.matchAll(PART)].map(([, quoted, stars, one, not, set, other]): Part => {
    if (stars !== undefined) return 'any'
    if (one !== undefined) return () => true
    if (set !== undefined) return oneOf(set, not !== '', pattern)
    return (character) => character === (quoted ?? other)
  })
}

function oneOf(set: string, isNegated: boolean, pattern: string): Part {
  try {
    const expression = new RegExp(`^[${set.replaceAll(/[\\\]^[]/g, '\\$&')}]$`, 'su')
    return (character) => expression.test(character) !== isNegated
  } catch {
    throw new CommandFailure('usage', `--exclude: ${JSON.stringify(pattern)} is not a pattern`)
  }
}

/** Goes back to the last `*` only, so the time grows with the product of both lengths; a regular expression takes far longer. */
function matches(pattern: readonly Part[], name: readonly string[]): boolean {
  let [at, read] = [0, 0]
  let star: { at: number; read: number } | undefined
  while (read < name.length) {
    const part = pattern[at]
    if (part === 'any') {
      star = { at, read }
      at += 1
    } else if (part?.(name[read] ?? '')) {
      at += 1
      read += 1
    } else if (star !== undefined) {
      star.read += 1
      at = star.at + 1
      read = star.read
    } else return false
  }
  return pattern.slice(at).every((part) => part === 'any')
}
