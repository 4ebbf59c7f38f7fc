import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { titlesWithoutSubject } = await library('checks/test-titles')

test.each([
  { name: 'a verb', source: "test('refuses a wrong secret', () => {})", line: 1 },
  { name: 'an auxiliary verb', source: "\ntest('is refused', () => {})", line: 2 },
  { name: 'a negation', source: "test('not before the start', () => {})", line: 1 },
  { name: 'a verb before a comma', source: "test('registers, and signs in', () => {})", line: 1 },
  { name: 'a table', source: "test.each(rows)('accepts $name', () => {})", line: 1 },
  { name: 'a template', source: 'test(`accepts it`, () => {})', line: 1 },
  { name: 'describe', source: "describe('refuses', () => { test('a secret', () => {}) })", line: 1 },
  { name: 'a loop', source: "for (const name of names) test('refuses it', () => {})", line: 1 }
])('a title without a subject is found: $name', ({ source, line }) => {
  expect(titlesWithoutSubject(source)).toEqual([line])
})

test.each([
  { name: 'a noun phrase', source: "test('a wrong secret is refused', () => {})" },
  { name: 'a table', source: "test.each(rows)('$name is refused', () => {})" },
  { name: 'a function', source: "test('settleWithin resolves', () => {})" },
  { name: 'a subject in describe', source: "describe('the endpoint', () => { test('refuses a secret', () => {}) })" },
  { name: 'another function', source: "run('refuses', () => {})" }
])('a title with a subject is accepted: $name', ({ source }) => {
  expect(titlesWithoutSubject(source)).toEqual([])
})
