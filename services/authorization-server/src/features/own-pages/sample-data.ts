import type { DataPath, Guard, Use } from './template-uses.js'

/** Says for each condition and list of a page whether its value is there. */
type State = ReadonlyMap<string, boolean>

const key = (path: DataPath): string => path.join('.')

/** The text that stands for a value. */
const marker = (path: DataPath): string => `⟦${key(path)}⟧`

/**
 * States that reach each part of a page: all values there, none there, each one alone there or missing, and for each part
 * its conditions with all others there, and with no other there.
 */
export function statesOf(uses: readonly Use[]): readonly State[] {
  const toggles = [...new Set(uses.flatMap((use) => (isToggle(use) ? [key(use.path)] : [])))]
  const all = (isThere: boolean, changes: readonly (readonly [string, boolean])[]): State =>
    new Map([...toggles.map((name) => [name, isThere] as const), ...changes])
  const ways = uses.map(({ guards }) => guards.map(({ path, isThere }) => [key(path), isThere] as const))
  const states = [
    all(true, []),
    all(false, []),
    ...toggles.flatMap((name) => [all(true, [[name, false]]), all(false, [[name, true]])]),
    ...ways.flatMap((changes) => [all(true, changes), all(false, changes)])
  ]
  return [...new Map(states.map((state) => [JSON.stringify([...state]), state])).values()]
}

const isToggle = ({ kind }: Use): boolean => kind === 'condition' || kind === 'list'

const holds =
  (state: State) =>
  ({ path, isThere }: Guard): boolean =>
    state.get(key(path)) === isThere

/** Data with the values that the page reads in this state, and no others. */
export function sampleOf(uses: readonly Use[], state: State): object {
  const read = uses.filter((use) => isToggle(use) || use.guards.every(holds(state)))
  return sampleAt([], read, state) as object
}

function sampleAt(path: DataPath, uses: readonly Use[], state: State): unknown {
  if (state.get(key(path)) === false) return uses.some(isListAt(path)) ? [] : ''
  const below = uses.filter((use) => use.path.length > path.length && path.every((name, at) => use.path[at] === name))
  const names = new Set(below.map((use) => use.path[path.length] as string))
  if (names.has('*') || uses.some(isListAt(path))) {
    const item = () => sampleAt([...path, '*'], uses, state)
    return [item(), item()]
  }
  if (names.size === 0 && path.length > 0) return marker(path)
  return Object.fromEntries([...names].map((name) => [name, sampleAt([...path, name], uses, state)]))
}

const isListAt =
  (path: DataPath) =>
  (use: Use): boolean =>
    use.kind === 'list' && key(use.path) === key(path)

export function describeState(state: State): string {
  const missing = [...state].flatMap(([name, isThere]) => (isThere ? [] : [name.replaceAll('.*', '[]')]))
  if (missing.length === 0) return ''
  if (missing.length <= 3) return ` when ${missing.join(', ')} is empty`
  const there = [...state].flatMap(([name, isThere]) => (isThere ? [name.replaceAll('.*', '[]')] : []))
  return there.length === 0
    ? ' when all conditions are empty'
    : there.length <= 3
      ? ` when only ${there.join(', ')} is there`
      : ''
}
