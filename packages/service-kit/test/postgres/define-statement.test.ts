import { expect, test } from '@jest/globals'
import { defineStatement } from '../../src/postgres/define-statement.js'

test('a statement numbers its parameters in the order in which their names first stand', () => {
  const rename = defineStatement('rename', 'update t set name = :newName where owner = :owner and id = :id')
  expect(rename({ id: 3, owner: 'o', newName: 'n' })).toEqual({
    name: 'rename',
    text: 'update t set name = $1 where owner = $2 and id = $3',
    values: ['n', 'o', 3]
  })
})

test('a name that stands several times is one parameter', () => {
  const find = defineStatement('find', 'select :id, :other, :id')
  expect(find({ id: 1, other: 2 })).toMatchObject({ text: 'select $1, $2, $1', values: [1, 2] })
})

test('an undefined value is sent, and the text without parameters is unchanged', () => {
  expect(defineStatement('find', 'select :id')({ id: undefined }).values).toEqual([undefined])
  expect(defineStatement('all', 'select 1')({})).toEqual({ name: 'all', text: 'select 1', values: [] })
})

test.each([
  ['a cast of a parameter', 'select :id::text[]', 'select $1::text[]'],
  ['a cast of a column to the type "id"', 'select :id, a::id', 'select $1, a::id'],
  ['a name that begins like another one', 'select :id, a from id_of', 'select $1, a from id_of'],
  ['a string', "select 'a:id '' :id', :id", "select 'a:id '' :id', $1"],
  ['JSON in a string', `select '{"a":1}'::jsonb || :id`, `select '{"a":1}'::jsonb || $1`],
  ['a quoted identifier', 'select "a:id", :id', 'select "a:id", $1'],
  ['a dollar-quoted string', 'select $$ :id $$, $a$ :id $a$, :id', 'select $$ :id $$, $a$ :id $a$, $1'],
  ['a comment', "select 1 -- it's :id\n, :id /* :id */", "select 1 -- it's :id\n, $1 /* :id */"],
  ['a colon before no name', 'select a[1:2], :id', 'select a[1:2], $1']
])('the parameters of a statement with %s are recognised', (_name, text, sent) => {
  expect(defineStatement<string>('statement', text)({ id: 1 })).toMatchObject({ text: sent, values: [1] })
})

test('a text with a numbered parameter is refused when it is defined', () => {
  expect(() => defineStatement('mixed', 'select :id, $1')).toThrow('mixed')
  expect(() => defineStatement('mixed', "select '$1', :id")).not.toThrow()
})

test('a statement without one of its values is refused, instead of null being sent', () => {
  const text: string = 'select :id, :owner'
  expect(() => defineStatement('find', text)({ id: 1 })).toThrow('find: no value for :owner')
})

test('the compiler refuses values with a missing or an unknown name', () => {
  const part: string = 'from t'
  const find = defineStatement(
    'find',
    `select :id::text[], array[:owner] ${part}
    where a = 'http://%' and owner = :owner,`
  )
  find({ id: 1, owner: 2 })
  // @ts-expect-error a value is missing
  expect(() => find({ id: 1 })).toThrow(TypeError)
  // @ts-expect-error no such parameter
  find({ id: 1, owner: 2, client: 3 })
})
