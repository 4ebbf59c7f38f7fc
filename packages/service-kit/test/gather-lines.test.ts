import { spawnSync } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { gatherLines } from '../src/gather-lines.js'

const kit = fileURLToPath(new URL('../dist/index.js', import.meta.url))

function gathering() {
  const written: string[] = []
  return { written, lines: gatherLines({ write: (text) => written.push(text) }) }
}

test('the lines of one turn are written together, in their order, and none twice', async () => {
  const { written, lines } = gathering()
  for (const line of ['a\n', 'b\n', 'c\n']) lines.write(line)
  expect(written).toEqual([])
  await nextTurn()
  lines.write('d\n')
  await nextTurn()
  expect(written).toEqual(['a\nb\nc\n', 'd\n'])
})

test('a flood is not kept until the turn ends', () => {
  const { written, lines } = gathering()
  for (let number = 0; number < 3; number++) lines.write('x'.repeat(30 * 1024))
  expect(written.map(({ length }) => length)).toEqual([90 * 1024])
})

test.each([
  { name: 'process.exit', end: 'process.exit(3)', status: 3 },
  { name: 'an error that nobody catches', end: 'throw new Error("lost")', status: 1 },
  { name: 'nothing left to do', end: '', status: 0 }
])('a process that ends by $name has written every line', ({ end, status }) => {
  const program = `import { buildLogger } from ${JSON.stringify(kit)}
    const logger = buildLogger('a-service', 'info')
    for (let number = 1; number <= 3; number++) logger.info({ number }, 'a line')
    ${end}`
  const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  const numbers = ended.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).number)
  expect([ended.status, numbers]).toEqual([status, [1, 2, 3]])
})
