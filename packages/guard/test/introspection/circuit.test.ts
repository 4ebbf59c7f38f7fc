import { expect, test } from '@jest/globals'
import { type Circuit, createCircuit } from '../../src/introspection/circuit.js'

function fail(circuit: Circuit, now: number, times = 1): void {
  for (let count = 0; count < times; count++) circuit.begin(now)?.failed(now)
}

test('the circuit opens after five failures in a row, not after four', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 4)
  expect(circuit.begin(0)).toBeDefined()
  fail(circuit, 0)
  expect(circuit.begin(0)).toBeUndefined()
})

test('a success resets the count of failures', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 4)
  circuit.begin(0)?.succeeded()
  fail(circuit, 0, 4)
  expect(circuit.begin(0)).toBeDefined()
})

test('the circuit allows one trial call after the pause, and no other call until it ends', () => {
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

test('each failed trial doubles the pause, up to two seconds', () => {
  const circuit = createCircuit()
  fail(circuit, 0, 5)
  let now = 250
  const early = [500, 1_000, 2_000, 2_000].map((pause) => {
    fail(circuit, now)
    const tooEarly = circuit.begin(now + pause - 1)
    now += pause
    return tooEarly
  })
  expect(early).toEqual([undefined, undefined, undefined, undefined])
  expect(circuit.begin(now)).toBeDefined()
})

test('concurrent calls that fail cause one pause', () => {
  const circuit = createCircuit()
  const calls = Array.from({ length: 100 }, () => circuit.begin(0))
  for (const call of calls) call?.failed(10)
  expect(circuit.begin(259)).toBeUndefined()
  expect(circuit.begin(260)).toBeDefined()
})

test('a call from before the pause: a late failure does not extend the pause, a late success ends it', () => {
  const circuit = createCircuit()
  const late = circuit.begin(0)
  const lucky = circuit.begin(0)
  fail(circuit, 0, 5)
  late?.failed(200)
  expect(circuit.begin(250)).toBeDefined()
  lucky?.succeeded()
  expect(circuit.begin(251)).toBeDefined()
})
