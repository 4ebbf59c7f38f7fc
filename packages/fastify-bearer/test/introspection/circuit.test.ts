import { expect, test } from '@jest/globals'
import { type Circuit, createCircuit } from '../../src/introspection/circuit.js'

function fail(circuit: Circuit, now: number, times = 1): void {
  for (let count = 0; count < times; count++) circuit.begin(now)?.failed(now)
}

test('five failures in a row open it, four do not', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 4)
  expect(circuit.begin(0)).toBeDefined()
  fail(circuit, 0)
  expect(circuit.begin(0)).toBeUndefined()
})

test('a success in between starts the count anew', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 4)
  circuit.begin(0)?.succeeded()
  fail(circuit, 0, 4)
  expect(circuit.begin(0)).toBeDefined()
})

test('after the rest one call tries, and nobody else until it has ended', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 5)
  expect(circuit.begin(249)).toBeUndefined()
  const trial = circuit.begin(250)
  expect(trial).toBeDefined()
  expect(circuit.begin(10_000)).toBeUndefined()
  trial?.succeeded()
  expect(circuit.begin(10_000)).toBeDefined()
  fail(circuit, 10_000, 4)
  expect(circuit.begin(10_000)).toBeDefined()
})

test('each failed trial doubles the rest, up to two seconds', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 5)
  let now = 250
  const rests = [500, 1_000, 2_000, 2_000].map((rest) => {
    fail(circuit, now)
    const early = circuit.begin(now + rest - 1)
    now += rest
    return early
  })
  expect(rests).toEqual([undefined, undefined, undefined, undefined])
  expect(circuit.begin(now)).toBeDefined()
})

test('many calls that fail together are one cause: the rest stays the first', () => {
  const circuit = createCircuit()
  const calls = Array.from({ length: 100 }, () => circuit.begin(0))
  for (const call of calls) call?.failed(10)
  expect(circuit.begin(259)).toBeUndefined()
  expect(circuit.begin(260)).toBeDefined()
})

test('a call from before the rest that fails late does not lengthen it, and one that succeeds late ends it', () => {
  const circuit = createCircuit()
  const late = circuit.begin(0)
  const lucky = circuit.begin(0)
  fail(circuit, 0, 5)
  late?.failed(200)
  expect(circuit.begin(250)).toBeDefined()
  lucky?.succeeded()
  expect(circuit.begin(251)).toBeDefined()
})
