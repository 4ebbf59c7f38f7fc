import { execFileSync } from 'node:child_process'
import { readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CommanderError } from 'commander'
import { createFilesWorld, type FilesWorld, ownerId } from '../../support/files-world.js'
import { readStoredFiles } from '../../support/stored-files.js'

const SOURCES = path.resolve(import.meta.dirname, '../../../src')

let world: FilesWorld
let directory: string
let makeTree: FilesWorld['makeTree']

beforeAll(async () => {
  world = await createFilesWorld()
  directory = world.directory
  makeTree = world.makeTree
})
afterAll(() => world.close())

const run = (...args: string[]) => world.run(args)

async function importAs(name: string, ...args: string[]) {
  const { out, said } = await run('import', '--owner', ownerId(name), '--json', ...args)
  return { counts: JSON.parse(out), said }
}

const filesOf = (name: string) => readStoredFiles(world.database, ownerId(name))

test('import records names, sizes and times of a real directory', async () => {
  const { counts } = await importAs('source-reader', SOURCES)
  const onDisk = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({ name: entry.name, stats: statSync(path.join(entry.parentPath, entry.name), { bigint: true }) }))
    .map(({ name, stats }) => `${name} ${stats.size} ${stats.mtimeMs}`)
  const listed = await filesOf('source-reader')
  expect(onDisk.length).toBeGreaterThan(10)
  expect(counts).toEqual({ imported: onDisk.length, updated: 0, unchanged: 0, skipped: 0, unreadable: 0 })
  expect(listed.map((file) => `${file.name} ${file.size} ${file.modifiedAt.getTime()}`).sort()).toEqual(onDisk.sort())
  expect(new Set(listed.map((file) => file.mimeType))).toEqual(new Set(['text/x-typescript']))
})

test('a second import updates changed files and duplicates none', async () => {
  const root = makeTree('again', { 'a.txt': 'a', 'deep/er/b.png': 'b' })
  const before = { imported: 2, updated: 0, unchanged: 0, skipped: 0, unreadable: 0 }
  expect((await importAs('ann', root)).counts).toEqual(before)
  const idsBefore = new Map((await filesOf('ann')).map((file) => [file.name, file.fileId]))
  writeFileSync(path.join(root, 'a.txt'), 'longer')
  // Whole seconds, because utimes rounds fractions.
  const later = new Date(Math.ceil(Date.now() / 1_000 + 5) * 1_000)
  utimesSync(path.join(root, 'a.txt'), later, later)
  writeFileSync(path.join(root, 'c.txt'), '')
  const after = { imported: 1, updated: 1, unchanged: 1, skipped: 0, unreadable: 0 }
  expect((await importAs('ann', root)).counts).toEqual(after)
  const files = await filesOf('ann')
  expect(files.map((file) => file.name).sort()).toEqual(['a.txt', 'b.png', 'c.txt'])
  expect(files.find((file) => file.name === 'a.txt')).toMatchObject({
    fileId: idsBefore.get('a.txt'),
    size: 6n,
    modifiedAt: later
  })
})

test('a path through a link or with .. identifies the same files', async () => {
  const root = makeTree('real', { 'a.txt': 'a' })
  symlinkSync(root, path.join(directory, 'link'))
  await importAs('bob', root)
  expect((await importAs('bob', path.join(directory, 'link'))).counts).toMatchObject({ imported: 0, unchanged: 1 })
  expect((await importAs('bob', `${root}/../real/.`)).counts).toMatchObject({ imported: 0, unchanged: 1 })
})

test('symbolic links and special files are reported and skipped, even if a link forms a loop', async () => {
  const root = makeTree('links', { 'a.txt': 'a' })
  symlinkSync(root, path.join(root, 'circle'))
  symlinkSync('/etc/passwd', path.join(root, 'passwd'))
  execFileSync('mkfifo', [path.join(root, 'pipe')])
  const { counts, said } = await importAs('cai', root)
  expect(counts).toEqual({ imported: 1, updated: 0, unchanged: 0, skipped: 3, unreadable: 0 })
  expect(said).toContain(`skipped: ${root}/circle (a symbolic link)`)
  expect(said).toContain(`skipped: ${root}/pipe (neither a file nor a directory)`)
})

test('--exclude takes patterns, and metadata of macOS and Office is skipped by default', async () => {
  const root = makeTree('patterns', {
    'a.txt': '',
    'b.tmp': '',
    'c/d.tmp': '',
    '._a.txt': '',
    'c/~$e.docx': '',
    '*.md': ''
  })
  expect((await importAs('dee', root, '--exclude', '*.tmp')).counts).toMatchObject({ imported: 2 })
  expect((await importAs('dee', root, '--prune', '--yes')).counts).toMatchObject({ imported: 2, pruned: 0 })
  const { counts } = await importAs('dee', root, '--no-default-excludes', '--exclude', '\\*.md', '--prune', '--yes')
  expect(counts).toMatchObject({ imported: 2, pruned: 1 })
  const pruned = { pruned: 2, unchanged: 3, imported: 1 }
  expect((await importAs('dee', root, '--prune', '--yes')).counts).toMatchObject(pruned)
})

test('--exclude skips a name at every depth', async () => {
  const root = makeTree('excluded', {
    'a.txt': 'a',
    'node_modules/x.js': 'x',
    'b/node_modules/y.js': 'y',
    'b/.git': ''
  })
  const { counts } = await importAs('dan', root, '--exclude', 'node_modules', '--exclude', '.git')
  expect(counts).toMatchObject({ imported: 1, skipped: 0 })
})

test('file names that are not UTF-8 or contain control sequences are imported as different files', async () => {
  const root = makeTree('names', { 'line\nbreak \u001b[2J.txt': '' })
  for (const byte of [0xe9, 0xea]) {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([byte]), Buffer.from('.txt')]), '')
  }
  // A lone surrogate in CESU-8, which is not valid UTF-8.
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xed, 0xa0, 0x80])]), '')
  expect((await importAs('eva', root)).counts).toMatchObject({ imported: 4 })
  expect((await importAs('eva', root)).counts).toMatchObject({ imported: 0, unchanged: 4 })
  const names = (await filesOf('eva')).map((file) => file.name)
  expect(names.filter((name) => name === 'caf\ufffd.txt')).toHaveLength(2)
})

test('import saves more files than one batch', async () => {
  const root = makeTree('many', Object.fromEntries(Array.from({ length: 1_203 }, (_, index) => [`${index}`, ''])))
  expect((await importAs('fay', root)).counts).toMatchObject({ imported: 1_203 })
  expect((await importAs('fay', root)).counts).toMatchObject({ imported: 0, updated: 0, unchanged: 1_203 })
})

test.each([
  { name: 'no owner', args: ['import', '/tmp'], code: 'commander.missingMandatoryOptionValue' },
  { name: 'no directory', args: ['import', '--owner', 'x'], code: 'commander.missingArgument' },
  { name: 'an unknown command', args: ['export'], code: 'commander.unknownCommand' }
])('wrong usage: $name', async ({ args, code }) => {
  const error: unknown = await run(...args).catch((caught: CommanderError) => caught)
  expect(error).toMatchObject({ code })
})

const someone = ownerId('someone')

test.each([
  { name: 'a missing directory', args: ['--owner', someone, '/does/not/exist'], exitCode: 1 },
  { name: 'a file', args: ['--owner', someone, import.meta.filename], exitCode: 1 },
  { name: 'a user name for an owner', args: ['--owner', 'alice', '/tmp'], exitCode: 2 },
  { name: 'an empty owner', args: ['--owner', '', '/tmp'], exitCode: 2 },
  { name: 'a pattern with a slash', args: ['--owner', someone, '--exclude', 'a/*', '/tmp'], exitCode: 2 },
  { name: '--gone without --prune', args: ['--owner', someone, '--gone', '/tmp'], exitCode: 2 },
  { name: 'a directory without a name', args: ['--owner', someone, ''], exitCode: 2 },
  { name: '--prune without a terminal and without --yes', args: ['--owner', someone, '--prune', '/tmp'], exitCode: 2 }
])('$name fails, in one line', async ({ args, exitCode }) => {
  await expect(run('import', ...args)).rejects.toMatchObject({ name: 'CommandFailure', exitCode })
})

test.each([
  ['alice', 'alice'],
  ['zoë quinn', "'zoë quinn'"],
  ["o'neill; $(id)", "'o'\\''neill; $(id)'"],
  ['two\nlines', 'NAME']
])('--owner %j: the error has the command that finds the id', async (given, word) => {
  for (const command of [
    ['import', '/tmp'],
    ['delete', '--yes']
  ]) {
    const message = `--owner must be a user id; for a user name pass --owner "$(valetkey users show ${word} --id)"`
    await expect(run(...command, '--owner', given)).rejects.toMatchObject({ message })
  }
})
