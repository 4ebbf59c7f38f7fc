import { describe, expect, test } from '@jest/globals'
import { code, files, matches, read, rowsBelow, sorted } from './support/documents.js'

const page = read('docs/connect-an-app.md')
const programs = files.filter((file) => /^examples\/quickstarts\/[^/]+\.(?!json$)\w+$/.test(file))
/** The files that the page contains, with their text. */
const embedded = new Map(
  [...page.matchAll(/<a href="\.\.\/([^"]+)">.*\n\n```\w+\n([\s\S]*?)```\n\n<\/details>/g)].map(
    ([, file = '', text = '']) => [file, text]
  )
)

describe('docs/connect-an-app.md', () => {
  test('has every program of examples/quickstarts, and no other', () => {
    expect(sorted(embedded.keys())).toEqual(sorted(programs))
  })

  test.each(programs)('%s: the text of the page is that of the file, with at most 60 lines', (program) => {
    expect(embedded.get(program)).toBe(read(program))
    expect(read(program).trimEnd().split('\n').length).toBeLessThanOrEqual(60)
  })

  test('"Run it" has every program, and the Debian packages that .ci/run installs', () => {
    const rows = rowsBelow(page, '## Run it')
    const run = rows.flatMap(([, file, , command]) => [...code(file), ...matches(command ?? '', /node ([\w.-]+)/g)])
    expect(sorted(run.map((file) => `examples/quickstarts/${file}`))).toEqual(sorted(programs))
    const script = read('.ci/run').split('# The languages of the quickstarts')[1]?.split('\nif ')[0] ?? ''
    const lists = matches(script, /\+?=\(([a-z][^)]*)\)/g).flatMap((list) => list.split(' '))
    expect(sorted(rows.flatMap(([, , packages]) => code(packages)))).toEqual(sorted(lists))
  })
})
