import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { type Command, programs } from './support/command-programs.js'
import { anchorsOf, codeOf, files, linksOf, matches, read, root, sorted } from './support/documents.js'

const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('.github/'))
const topFolders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

describe.each(pages)('%s', (page) => {
  const here = path.posix.dirname(page)

  test('every link has an existing file and heading', () => {
    const broken = linksOf(page).filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : path.posix.join(here, file)
      if (!existsSync(path.join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  test('every named path exists', () => {
    const named = codeOf(page).flat()
    const paths = named.filter((word) => /^[\w.@*-]+(\/[\w.@*-]+)*\/?$/.test(word) && !/NNNN|^\.data/.test(word))
    const inTree = paths.filter((word) => topFolders.includes(word.split('/')[0] ?? '') && word.includes('/'))
    const byName = paths.filter((word) => /\.(ts|mjs|cjs|md|json|sql|hbs|yml)$/.test(word) && !inTree.includes(word))
    const lost = [
      ...inTree.filter((word) => !isThere(word) && !isThere(path.posix.join(here, word))),
      ...byName.filter((word) => !endsAFile(word))
    ]
    expect(lost).toEqual([])
  })

  test('every named valetkey command and option is in --help', () => {
    expect(codeOf(page).flatMap(unknownCommands)).toEqual([])
  })

  test('every named npm script exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = matches(read(page), /npm run (?:--silent )?([a-z][\w:-]*)/g)
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})

function isThere(word: string): boolean {
  if (!word.includes('*')) return existsSync(path.join(root, word))
  const pattern = new RegExp(`^${word.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}`)
  return files.some((file) => pattern.test(file))
}

const endsAFile = (word: string): boolean => files.some((file) => file === word || file.endsWith(`/${word}`))

/** Commands and options in the line that the programs do not have. Names of charts and folders are not commands. */
function unknownCommands(words: string[]): string[] {
  const at = words.findIndex((word, index) => word in programs && words[index - 1] !== 'install')
  const name = words[at] as keyof typeof programs
  if (at < 0) return []
  let command: Command = programs[name]
  const rest = words.slice(at + 1).filter((word) => word !== '--')
  if (!/^[a-z]/.test(rest[0] ?? '')) return []
  while (command.commands.length > 0) {
    const word = rest.shift() ?? ''
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) return [`${command.name()} ${word}`]
    command = next
  }
  const known = ['--help', ...command.options.map(({ long }) => long)]
  return rest
    .filter((word) => word.startsWith('--') && !known.includes(word))
    .map((word) => `${command.name()} ${word}`)
}

test('docs/protocol.md: every rule names an existing source, file and test', () => {
  const linked = (cell = '') => matches(cell, /\]\(([^)#]+)/g).map((link) => path.posix.join('docs', link))
  const isTest = (file: string) => /\.test\.ts$|\.mjs$|^e2e\/(browser|stack)\//.test(file)
  const rows = read('docs/protocol.md')
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\| (rule|---) \|/.test(line))
  const incomplete = rows.filter((row) => {
    const [rule, source, file, tests, ...more] = row.slice(2, -2).split(' | ')
    const hasSource = /RFC \d+ §\d|RFC \d+(,|$)/.test(source ?? '') || linked(source).length > 0
    const isComplete = rule !== '' && hasSource && linked(file).length > 0 && linked(tests).length > 0
    const areInPlace = !linked(file).some((one) => one.endsWith('.test.ts')) && linked(tests).every(isTest)
    return !isComplete || !areInPlace || more.length > 0
  })
  expect(rows.length).toBeGreaterThan(150)
  expect(incomplete).toEqual([])
  expect(rows.flatMap(linked).filter((file) => !existsSync(path.join(root, file)))).toEqual([])
})

test('docs/libraries.md: one line for each direct dependency, with its purpose and no version', () => {
  const lines = read('docs/libraries.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))
  const named = lines.map((line) => /^- (@?[\w./-]+): \S/.exec(line)?.[1] ?? line)
  const manifests = files.filter((file) => file.endsWith('package.json'))
  const used = manifests.flatMap((file) => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(file)) as Record<string, object>
    return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  })
  const ours = new Set(used.filter((name) => !name.startsWith('@valetkey/')))
  expect(named.toSorted()).toEqual([...ours].toSorted())
  expect(lines.filter((line) => / \d+\.\d+\.\d+\b/.test(line))).toEqual([])
})

test('docs/adr/README.md: exactly the existing decisions', () => {
  const decisions = files.filter((file) => /^docs\/adr\/\d/.test(file)).map((file) => path.basename(file))
  expect(sorted(linksOf('docs/adr/README.md'))).toEqual(sorted(decisions))
})

test('docs/README.md: a link to every page of the folder and to the decisions', () => {
  const pages = files.filter((file) => /^docs\/[^/]+\.md$/.test(file)).map((file) => path.basename(file))
  const linked = linksOf('docs/README.md').map((link) => link.split('#')[0] ?? '')
  expect(linked).toEqual(expect.arrayContaining([...pages.filter((page) => page !== 'README.md'), 'adr/README.md']))
})
