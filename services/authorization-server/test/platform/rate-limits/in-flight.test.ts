import { expect, test } from '@jest/globals'
import { array, assert, boolean, constantFrom, property, record, subarray } from 'fast-check'
import { createInFlight, type Entry } from '../../../src/platform/rate-limits/in-flight.js'

let arrivals = 0
const entryOf = (names: readonly string[], most = 2): Entry & { isIn: boolean } => {
  const entry = { names, most: names.map(() => most), arrival: arrivals++, isIn: false, admit: () => {} }
  entry.admit = () => {
    entry.isIn = true
  }
  return entry
}

test('waiting attempts are admitted in the order of arrival; one for another key need not wait', () => {
  const inFlight = createInFlight()
  const [first, second, third, other] = [entryOf(['a'], 1), entryOf(['a'], 1), entryOf(['a'], 1), entryOf(['b'], 1)]
  expect(inFlight.take(first)).toBe(true)
  // Rejected after the third, which arrived later.
  for (const entry of [third, second]) inFlight.wait(entry)
  expect(inFlight.take(other)).toBe(true)
  inFlight.leave(first)
  expect([second.isIn, third.isIn]).toEqual([true, false])
})

test('a limit that has fewer failures left has fewer places', () => {
  const inFlight = createInFlight()
  const [first, second, third] = [entryOf(['a'], 3), entryOf(['a'], 3), entryOf(['a'], 3)]
  expect([inFlight.take(first), inFlight.take(second)]).toEqual([true, true])
  inFlight.allow('a', 1)
  inFlight.wait(third)
  inFlight.leave(first)
  expect(third.isIn).toBe(false)
  inFlight.leave(second)
  expect(third.isIn).toBe(true)
})

test('no key exceeds its places, and none stays in memory afterwards', () => {
  const names = ['a', 'b', 'c']
  const step = record({ names: subarray(names, { minLength: 1 }), leaves: boolean(), which: constantFrom(0, 1, 2) })
  assert(
    property(array(step, { maxLength: 60 }), (steps) => {
      const inFlight = createInFlight()
      const all: (Entry & { isIn: boolean })[] = []
      const leave = (entry: Entry & { isIn: boolean }) => {
        if (entry.isIn) inFlight.leave(entry)
        else expect(inFlight.stopWaiting(entry)).toBe(true)
      }
      for (const { names: wanted, leaves, which } of steps) {
        const [gone] = leaves ? all.splice(which, 1) : []
        if (gone !== undefined) leave(gone)
        const entry = entryOf(wanted)
        if (inFlight.take(entry)) entry.isIn = true
        else inFlight.wait(entry)
        all.push(entry)
        for (const name of names) {
          expect(inFlight.taken(name)).toBe(all.filter((each) => each.isIn && each.names.includes(name)).length)
          expect(inFlight.taken(name)).toBeLessThanOrEqual(2)
        }
      }
      for (const entry of all) leave(entry)
      expect([inFlight.waiting(), inFlight.size()]).toEqual([0, 0])
    })
  )
})
