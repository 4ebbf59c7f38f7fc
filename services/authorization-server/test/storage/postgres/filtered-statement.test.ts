import { expect, jest, test } from '@jest/globals'
import { defineFiltered } from '../../../src/storage/postgres/filtered-statement.js'

const CONDITIONS = [
  { parameter: 'owner', name: 'of_owner', text: 'owner = :owner' },
  { parameter: 'colour', name: 'in_colour', text: 'colour = :colour' }
]
const textOf = (conditions: string) => `select id from boats where true ${conditions} limit :limit`
const defineBoats = () => defineFiltered('list_boats', CONDITIONS, textOf)

test.each([
  {
    name: 'none',
    values: { limit: 5 },
    statement: { name: 'list_boats', text: 'select id from boats where true  limit $1', values: [5] }
  },
  {
    name: 'the first',
    values: { owner: 'alice', limit: 5 },
    statement: {
      name: 'list_boats_of_owner',
      text: 'select id from boats where true and owner = $1 limit $2',
      values: ['alice', 5]
    }
  },
  {
    name: 'the second; the first is undefined',
    values: { owner: undefined, colour: 'red', limit: 5 },
    statement: {
      name: 'list_boats_in_colour',
      text: 'select id from boats where true and colour = $1 limit $2',
      values: ['red', 5]
    }
  },
  {
    name: 'both, in the order of the definition',
    values: { limit: 5, colour: 'red', owner: 'alice' },
    statement: {
      name: 'list_boats_of_owner_in_colour',
      text: 'select id from boats where true and owner = $1 and colour = $2 limit $3',
      values: ['alice', 'red', 5]
    }
  }
])('a filtered statement has the conditions whose parameters have a value: $name', ({ values, statement }) => {
  expect(defineBoats()(values)).toEqual(statement)
})

test.each([{ owner: '' }, { owner: 0 }, { owner: false }, { owner: null }])(
  'a value that is not undefined applies its condition: %j',
  (values) => {
    expect(defineBoats()({ ...values, limit: 5 })).toMatchObject({
      name: 'list_boats_of_owner',
      values: [values.owner, 5]
    })
  }
)

test('each combination of conditions is defined once, at its first use, and takes new values at each use', () => {
  const define = jest.fn(textOf)
  const listBoats = defineFiltered('list_boats', CONDITIONS, define)
  expect(define).not.toHaveBeenCalled()
  const uses = [
    { owner: 'alice', limit: 5 },
    { owner: 'bob', limit: 6 },
    { colour: 'red', limit: 7 },
    { owner: 'carol', limit: 8 }
  ]
  const statements = uses.map(listBoats)
  expect(define.mock.calls).toEqual([['and owner = :owner'], ['and colour = :colour']])
  expect(statements.map(({ name, values }) => [name, ...values])).toEqual([
    ['list_boats_of_owner', 'alice', 5],
    ['list_boats_of_owner', 'bob', 6],
    ['list_boats_in_colour', 'red', 7],
    ['list_boats_of_owner', 'carol', 8]
  ])
})

test('a value that the text needs and that is missing is an error, which names the combination', () => {
  expect(() => defineBoats()({ owner: 'alice' })).toThrow('list_boats_of_owner: no value for :limit')
})
