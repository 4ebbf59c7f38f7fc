import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { longFunctions } = await library('checks/function-lengths')

const body = (lines: number, line = 'work()') => Array.from({ length: lines }, () => `${line}\n`).join('')

test.each([
  { name: 'a function of six lines', source: `function a() {\n${body(4)}}`, found: [{ line: 1, lines: 6 }] },
  { name: 'an arrow function', source: `\nconst a = () => {\n${body(4)}}`, found: [{ line: 2, lines: 6 }] },
  {
    name: 'a method of a store',
    source: `const a = () => ({\nread() {\n${body(4)}}\n})`,
    found: [{ line: 2, lines: 6 }]
  },
  { name: 'a property', source: `const a = {\nread: async () => {\n${body(4)}}\n}`, found: [{ line: 2, lines: 6 }] },
  { name: 'a class method', source: `class A {\nread() {\n${body(4)}}\n}`, found: [{ line: 2, lines: 6 }] },
  { name: 'a callback', source: `run(\n() => {\n${body(4)}})`, found: [{ line: 2, lines: 6 }] },
  {
    name: 'a function with a callback',
    source: `function a() {\nrun(() => {\n${body(2)}})\n}`,
    found: [{ line: 1, lines: 6 }]
  },
  {
    name: 'a function in a template',
    source: `// „ä“\nconst a = \`\${run(() => {\n${body(4)}})}\``,
    found: [{ line: 2, lines: 6 }]
  }
])('a function of more than five lines is found: $name', ({ source, found }) => {
  expect(longFunctions(source, 5)).toEqual(found)
})

test.each([
  { name: 'a function of five lines', source: `function a() {\n${body(3)}}` },
  {
    name: 'a factory of methods',
    source: `function a() {\nreturn {\nread() {\n${body(2)}},\nadd() {\n${body(2)}}}\n}`
  },
  {
    name: 'a factory of functions',
    source: `function a() {\nfunction b() {\n${body(3)}}\nfunction c() {\n${body(3)}}\n}`
  },
  { name: 'a factory of constants', source: `const a = () => {\nconst b = () => {\n${body(3)}}\nreturn b\n}` },
  { name: 'an SQL text', source: `function a() {\nquery(\`\n${body(6, 'select 1')}\`)\n}` },
  { name: 'empty lines and comments', source: `function a() {\n${body(3)}\n\n// b\n/**\n * c\n */\n}` },
  { name: 'a long object outside of functions', source: `const a = {\n${body(9, 'b: 1,')}}` }
])('a function of five lines is accepted: $name', ({ source }) => {
  expect(longFunctions(source, 5)).toEqual([])
})
