import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database } from '@valetkey/service-kit'
import type { CommanderError } from 'commander'
import type { CommandContext } from '../../src/cli/context.js'
import { buildProgram } from '../../src/cli/program.js'
import { readStoredFiles } from '../stored-files.js'

const SOURCES = path.resolve(import.meta.dirname, '../../src')

let testDatabase: TestDatabase
let database: Database
let directory: string

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = connectPostgres(testDatabase.url, { connections: 2 })
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey files '))
  expect(JSON.parse((await run('migrate', '--json')).out)).toMatchObject({
    applied: expect.arrayContaining(['0001_create_files.sql'])
  })
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await database.close()
  await testDatabase.drop()
})

async function run(...args: string[]): Promise<{ out: string; said: string }> {
  const [out, said]: [string[], string[]] = [[], []]
  const context: CommandContext = {
    databaseUrl: () => testDatabase.url,
    database: () => database,
    out: (text) => out.push(text),
    say: (text) => said.push(text),
    isWatched: false
  }
  await buildProgram(context).parseAsync(['node', 'valetkey-files', ...args])
  return { out: out.join(''), said: said.join('') }
}

async function importAs(owner: string, ...args: string[]) {
  const { out, said } = await run('import', '--owner', owner, '--json', ...args)
  return { counts: JSON.parse(out), said }
}

const filesOf = (ownerId: string) => readStoredFiles(database, ownerId)

/** A fresh directory with these files. */
function makeTree(name: string, files: Readonly<Record<string, string>>): string {
  const root = path.join(directory, name)
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    writeFileSync(path.join(root, file), content)
  }
  return root
}

test('a real directory: names, sizes and times are those of its files', async () => {
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

test('importing again updates what changed instead of doubling it', async () => {
  const root = makeTree('again', { 'a.txt': 'a', 'deep/er/b.png': 'b' })
  const before = { imported: 2, updated: 0, unchanged: 0, skipped: 0, unreadable: 0 }
  expect((await importAs('ann', root)).counts).toEqual(before)
  const idsBefore = new Map((await filesOf('ann')).map((file) => [file.name, file.fileId]))
  writeFileSync(path.join(root, 'a.txt'), 'longer')
  // Whole seconds, for utimes rounds fractions.
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

test('a path through a link, or with detours, names the same files', async () => {
  const root = makeTree('real', { 'a.txt': 'a' })
  symlinkSync(root, path.join(directory, 'link'))
  await importAs('bob', root)
  expect((await importAs('bob', path.join(directory, 'link'))).counts).toMatchObject({ imported: 0, unchanged: 1 })
  expect((await importAs('bob', `${root}/../real/.`)).counts).toMatchObject({ imported: 0, unchanged: 1 })
})

test('links and what is no file are named and left out; the circle they make does no harm', async () => {
  const root = makeTree('links', { 'a.txt': 'a' })
  symlinkSync(root, path.join(root, 'circle'))
  symlinkSync('/etc/passwd', path.join(root, 'passwd'))
  execFileSync('mkfifo', [path.join(root, 'pipe')])
  const { counts, said } = await importAs('cai', root)
  expect(counts).toEqual({ imported: 1, updated: 0, unchanged: 0, skipped: 3, unreadable: 0 })
  expect(said).toContain(`skipped: ${root}/circle (a symbolic link)`)
  expect(said).toContain(`skipped: ${root}/pipe (neither a file nor a directory)`)
})

test('--exclude passes over a name wherever it stands', async () => {
  const root = makeTree('excluded', {
    'a.txt': 'a',
    'node_modules/x.js': 'x',
    'b/node_modules/y.js': 'y',
    'b/.git': ''
  })
  const { counts } = await importAs('dan', root, '--exclude', 'node_modules', '--exclude', '.git')
  expect(counts).toMatchObject({ imported: 1, skipped: 0 })
})

test('names that are not UTF-8, or hold what a terminal obeys, are imported and told apart', async () => {
  const root = makeTree('names', { 'line\nbreak \u001b[2J.txt': '' })
  for (const byte of [0xe9, 0xea]) {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([byte]), Buffer.from('.txt')]), '')
  }
  // A lone surrogate in the three bytes that CESU-8 has for it.
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xed, 0xa0, 0x80])]), '')
  expect((await importAs('eva', root)).counts).toMatchObject({ imported: 4 })
  expect((await importAs('eva', root)).counts).toMatchObject({ imported: 0, unchanged: 4 })
  const names = (await filesOf('eva')).map((file) => file.name)
  expect(names.filter((name) => name === 'caf\ufffd.txt')).toHaveLength(2)
})

test('more files than one batch holds', async () => {
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

test.each([
  { name: 'a directory that is not there', args: ['--owner', 'x', '/does/not/exist'], exitCode: 1 },
  { name: 'a file', args: ['--owner', 'x', import.meta.filename], exitCode: 1 },
  { name: 'an owner with a blank', args: ['--owner', 'x y', '/tmp'], exitCode: 2 }
])('$name fails, in one line', async ({ args, exitCode }) => {
  await expect(run('import', ...args)).rejects.toMatchObject({ name: 'CommandFailure', exitCode })
})
