import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { earlyReturns } = await library('checks/early-returns')

const inTest = (body: string) => `test('a', async () => {\n${body}\n})\n`

test.each([
  { name: 'a condition in a test', source: inTest('if (world === undefined) return'), lines: [2] },
  { name: 'a block', source: inTest('if (!hasRedis()) {\n  close()\n  return\n}'), lines: [4] },
  { name: 'an else', source: inTest('if (ready) start()\nelse return'), lines: [3] },
  { name: 'a value', source: inTest('if (missing) return undefined'), lines: [2] },
  { name: 'a loop', source: inTest('for (const each of all) if (each.done) return'), lines: [2] },
  { name: 'a switch', source: inTest('switch (kind) {\n  case 1:\n    return\n}'), lines: [4] },
  { name: 'a table', source: "test.each(rows)('$name', ({ name }) => { if (name) return })", lines: [1] },
  { name: 'a template table', source: "test.each`a`('$a', ({ a }) => { if (a) return })", lines: [1] },
  { name: 'it.concurrent', source: "it.concurrent('a', function () { if (b) return })", lines: [1] },
  { name: 'describe', source: "\ndescribe('a', () => { if (b) return })", lines: [2] },
  { name: 'a test in describe', source: `// „ä“\ndescribe('a', () => {\n${inTest('if (b) return')}})`, lines: [4] },
  ...['beforeAll', 'beforeEach', 'afterAll', 'afterEach'].map((hook) => ({
    name: hook,
    source: `${hook}(() => { if (a) return })`,
    lines: [1]
  }))
])('an early return is found: $name', ({ source, lines }) => {
  expect(earlyReturns(source)).toEqual(lines)
})

test.each([
  { name: 'a helper', source: 'function find() { if (a) return b }' },
  { name: 'a function in a test', source: inTest('const find = () => { if (a) return b }\nfind()') },
  { name: 'a callback in a test', source: inTest('rows.map((row) => { if (row.a) return 1 })') },
  { name: 'the end of a test', source: inTest('return server.close()') },
  { name: 'an expression', source: 'afterAll(() => server?.close())' },
  { name: 'another function with a callback', source: 'run(() => { if (a) return })' }
])('no early return: $name', ({ source }) => {
  expect(earlyReturns(source)).toEqual([])
})
