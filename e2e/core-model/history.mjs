// Records the operations of one cell, with names instead of codes and tokens.
import { effectsOf } from './model.mjs'

/** @import { Operation } from './check-history.mjs' */
/** @import { Observed, State } from './model-state.mjs' */
/** @import { World } from './world.mjs' */
/** @typedef {{ place: number, at: number }} Moment */
/**
 * @template Kind
 * @typedef {Kind extends unknown ? Omit<Kind, 'id' | 'began' | 'ended'> : never} Fields
 */

/** @param {Pick<World, 'now'>} world */
export function createHistory(world) {
  /** @type {Operation<State>[]} */
  const operations = []
  /** @type {Map<string, string>} */
  const names = new Map()
  const counts = { c: 0, a: 0, r: 0, o: 0 }

  /**
   * @param {Moment} start
   * @param {Moment} end
   * @param {Fields<Observed>} fields
   * @param {{ optional?: boolean, id?: string }} [more]
   */
  function add(start, end, fields, { optional = false, id = newId() } = {}) {
    const observed = /** @type {Observed} */ ({ ...fields, id, began: start.at, ended: end.at })
    const apply = (/** @type {State} */ state) => effectsOf(observed, state)
    operations.push({ name: describe(observed, start, end), start: start.place, end: end.place, optional, apply })
    return id
  }

  const newId = () => `o${++counts.o}`

  return {
    operations,
    newId,
    /** @param {'c' | 'a' | 'r'} kind @param {string} value */
    nameOf(kind, value) {
      const name = names.get(value) ?? `${kind}${++counts[kind]}`
      names.set(value, name)
      return name
    },
    /** An operation whose response arrived now. @param {Moment} start @param {Fields<Observed>} fields */
    note: (start, fields) => add(start, world.now(), fields),
    /**
     * An operation that may take effect at any time until `end`, or not at all.
     * @param {Moment} start
     * @param {Fields<Observed>} fields
     * @param {{ id?: string, end?: Moment }} [more]
     */
    noteUnknown: (start, fields, { id = newId(), end = NEVER } = {}) => add(start, end, fields, { optional: true, id })
  }
}

/** @type {Moment} */
const NEVER = { place: Number.POSITIVE_INFINITY, at: Number.POSITIVE_INFINITY }

/** @param {Observed} observed @param {Moment} start @param {Moment} end */
function describe({ kind, id, began: _began, ended: _ended, ...fields }, start, end) {
  const shown = Object.values(fields).map((value) =>
    typeof value === 'object' ? Object.values(value).join('+') : String(value)
  )
  const times = `${start.place}-${end.place === Number.POSITIVE_INFINITY ? '?' : end.place}`
  return `${id} [${times}, ${start.at.toFixed(0)} ms] ${kind} ${shown.join(' ')}`
}
