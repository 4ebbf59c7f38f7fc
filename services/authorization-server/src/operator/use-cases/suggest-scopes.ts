/** More are a list of the catalogue. */
const MOST_SUGGESTIONS = 3
/** The start of a name, or a part of it, says something from this length on. */
const SHORTEST_PART = 3
/** The longest name of a scope. */
const LONGEST_NAME = 100
/** A request can have thousands of unknown names. */
const MOST_NAMES = 10

/**
 * The known names that look like this one, most alike first: few letters differ, or one contains the other. Case is ignored.
 * @returns at most three; none if nothing is alike
 */
export function suggestScopes(given: string, known: readonly string[]): readonly string[] {
  if (given.length > LONGEST_NAME) return []
  const wanted = given.toLowerCase()
  return known
    .map((name) => ({ name, distance: distanceBetween(wanted, name.toLowerCase()) }))
    .filter(({ name, distance }) => isAlike(wanted, name.toLowerCase(), distance))
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name)
}

/** A hint for error messages; undefined if nothing is alike. */
export function didYouMean(given: readonly string[], known: readonly string[]): string | undefined {
  const names = [...new Set(given.slice(0, MOST_NAMES).flatMap((name) => suggestScopes(name, known)))]
  return names.length === 0 ? undefined : `did you mean ${names.join(' or ')}?`
}

function isAlike(given: string, name: string, distance: number): boolean {
  if (distance <= Math.max(given.length, name.length) / 3) return true
  const [part, whole] = given.length < name.length ? [given, name] : [name, given]
  return part.length >= SHORTEST_PART && whole.includes(part)
}

/** How many letters to insert, delete or replace (Levenshtein). */
function distanceBetween(one: string, other: string): number {
  let last = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [column, otherLetter] of [...other].entries()) {
      const replaced = at(last, column) + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(at(last, column + 1) + 1, at(next, column) + 1, replaced))
    }
    last = next
  }
  return at(last, other.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY
