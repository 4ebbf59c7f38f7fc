import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { connectPostgres } from '@valetkey/service-kit'
import { pruneDirectory } from '../../../src/operator/cli/prune-directory.js'
import { placesOfGone } from '../../../src/operator/cli/resolve-places.js'
import { createImportRoots } from '../../../src/storage/import-roots.js'
import { createImportRuns } from '../../../src/storage/import-runs.js'
import { createFilesWorld, type FilesWorld, ownerId } from '../../support/files-world.js'
import { readStoredFiles } from '../../support/stored-files.js'

let world: FilesWorld
beforeAll(async () => {
  world = await createFilesWorld()
})
afterAll(() => world.close())

async function importFor(name: string, root: string, ...options: string[]) {
  const { out } = await world.run(['import', '--owner', ownerId(name), '--json', ...options, root])
  return JSON.parse(out)
}

async function namesOf(name: string): Promise<string[]> {
  return (await readStoredFiles(world.database, ownerId(name))).map((file) => file.name).sort()
}

const remove = (...parts: string[]) => rmSync(path.join(...parts), { recursive: true })

test('prune removes deleted files only, and none of another directory or user', async () => {
  const root = world.makeTree('gone/a', { 'stays.txt': '', 'goes.txt': '', 'deep/goes too.txt': '' })
  const beside = world.makeTree('gone/ab', { 'beside.txt': '' })
  for (const tree of [root, beside]) await importFor('ann', tree)
  await importFor('bob', root)
  remove(root, 'goes.txt')
  remove(root, 'deep')
  expect(await importFor('ann', root, '--prune', '--yes')).toMatchObject({ unchanged: 1, pruned: 2 })
  expect(await namesOf('ann')).toEqual(['beside.txt', 'stays.txt'])
  expect(await namesOf('bob')).toHaveLength(3)
  expect(await importFor('ann', root, '--prune', '--yes')).toMatchObject({ pruned: 0 })
})

test('prune of a subdirectory removes only files below it', async () => {
  const root = world.makeTree('within', { 'a.txt': '', 'inner/b.txt': '', 'inner/c.txt': '' })
  await importFor('cai', root)
  remove(root, 'a.txt')
  remove(root, 'inner/b.txt')
  expect(await importFor('cai', path.join(root, 'inner'), '--prune', '--yes')).toMatchObject({ pruned: 1 })
  expect(await namesOf('cai')).toEqual(['a.txt', 'c.txt'])
  expect(await importFor('cai', root, '--prune', '--yes')).toMatchObject({ pruned: 1 })
  expect(await namesOf('cai')).toEqual(['c.txt'])
})

test('prune removes files that are now excluded or were replaced by a link', async () => {
  const root = world.makeTree('excluded', { 'a.txt': '', 'b.txt': '', 'cache/c.txt': '' })
  await importFor('dan', root)
  remove(root, 'b.txt')
  symlinkSync('/etc/hosts', path.join(root, 'b.txt'))
  expect(await importFor('dan', root, '--prune', '--yes', '--exclude', 'cache')).toMatchObject({
    pruned: 2,
    skipped: 1
  })
  expect(await namesOf('dan')).toEqual(['a.txt'])
})

test('prune keeps files below a directory that could not be read', async () => {
  const root = world.makeTree('unreadable', {
    'a.txt': '',
    'gone.txt': '',
    'closed/b.txt': '',
    'closed/deep/c.txt': ''
  })
  await importFor('eva', root)
  remove(root, 'gone.txt')
  const runs = createImportRuns(world.database)
  const owner = ownerId('eva')
  await runs.own(owner)
  // The state after a walk that saw a.txt and could not open "closed".
  const [seen] = await world.database.query<{ source_hash: Buffer }>({
    name: 'hash_of_a',
    text: "select source_hash from files where owner_id = $1 and name = 'a.txt'",
    values: [owner]
  })
  await runs.noteSightings(owner, [seen?.source_hash ?? Buffer.alloc(0)])
  const unread = [Buffer.from(path.join(root, 'closed'))]
  const directory = Buffer.from(root)
  const roots = createImportRoots(world.database)
  const places = await placesOfGone(owner, directory, roots)
  const request = {
    ownerId: owner,
    directory,
    places,
    unrooted: directory,
    unread,
    mayBeUnmounted: false,
    dryRun: false
  }
  const stop = new AbortController().signal
  expect(await pruneDirectory({ ...request, confirm: async () => true, stop }, runs)).toBe(1)
  expect(await namesOf('eva')).toEqual(['a.txt', 'b.txt', 'c.txt'])
})

test('prune of a directory without files removes nothing, because a disk may not be mounted', async () => {
  const root = world.makeTree('empty', { 'a.txt': '' })
  await importFor('fay', root)
  remove(root, 'a.txt')
  await expect(importFor('fay', root, '--prune', '--yes')).rejects.toMatchObject({ exitCode: 1 })
  expect(await namesOf('fay')).toEqual(['a.txt'])
  expect(await importFor('fay', root, '--prune', '--yes', '--gone')).toMatchObject({ pruned: 1 })
})

describe('prune of a directory that no longer exists', () => {
  test('removes its files, and none of another directory', async () => {
    const [root, other] = [
      world.makeTree('gone-root/a', { 'b/a.txt': '' }),
      world.makeTree('gone-root/b', { 'b/c.txt': '' })
    ]
    for (const tree of [root, other]) await importFor('gil', tree)
    remove(root)
    await expect(importFor('gil', root)).rejects.toMatchObject({ exitCode: 1 })
    const counts = { imported: 0, updated: 0, unchanged: 0, skipped: 0, unreadable: 0, pruned: 1 }
    expect(await importFor('gil', root, '--prune', '--dry-run')).toEqual({ ...counts, dry_run: true })
    expect(await importFor('gil', root, '--prune', '--yes')).toEqual(counts)
    expect(await importFor('gil', root, '--prune', '--yes')).toMatchObject({ pruned: 0 })
    expect(await namesOf('gil')).toEqual(['c.txt'])
  })

  test('through a link, and for a part of a directory', async () => {
    const root = world.makeTree('gone-part', { 'a.txt': '', 'b/c.txt': '', 'bc.txt': '' })
    symlinkSync(root, path.join(world.directory, 'gone-link'))
    await importFor('gem', root)
    remove(root, 'b')
    const part = path.join(world.directory, 'gone-link', 'b')
    expect(await importFor('gem', part, '--prune', '--yes')).toMatchObject({ pruned: 1 })
    expect(await namesOf('gem')).toEqual(['a.txt', 'bc.txt'])
  })

  test('removes nothing if the directory around it is empty, because a disk may not be mounted', async () => {
    const root = world.makeTree('gone-disk/mount/a', { 'a.txt': '' })
    await importFor('gia', root)
    remove(root)
    const pruning = importFor('gia', root, '--prune', '--yes')
    await expect(pruning).rejects.toMatchObject({ exitCode: 1, message: /perhaps a disk is not mounted.*--gone/ })
    expect(await importFor('gia', root, '--prune', '--yes', '--gone')).toMatchObject({ pruned: 1 })
  })
})

test('--dry-run changes nothing and predicts the counts of the next run', async () => {
  const root = world.makeTree('dry', { 'same.txt': '', 'changed.txt': '', 'gone.txt': '' })
  await importFor('gus', root)
  writeFileSync(path.join(root, 'changed.txt'), 'longer')
  writeFileSync(path.join(root, 'new.txt'), '')
  remove(root, 'gone.txt')
  const before = await readStoredFiles(world.database, ownerId('gus'))
  const predicted = await importFor('gus', root, '--prune', '--dry-run')
  const counts = { imported: 1, updated: 1, unchanged: 1, skipped: 0, unreadable: 0, pruned: 1 }
  expect(predicted).toEqual({ ...counts, dry_run: true })
  expect(await readStoredFiles(world.database, ownerId('gus'))).toEqual(before)
  expect(await importFor('gus', root, '--prune', '--yes')).toEqual(counts)
})

describe('prune asks for confirmation', () => {
  test.each([
    { answer: true, pruned: 1, names: ['a.txt'] },
    { answer: false, pruned: 0, names: ['a.txt', 'b.txt'] }
  ])('answer $answer: $pruned removed', async ({ answer, pruned, names }) => {
    const name = `asked ${answer}`
    const root = world.makeTree(name, { 'a.txt': '', 'b.txt': '' })
    await importFor(name, root)
    remove(root, 'b.txt')
    const confirm = jest.fn(async (_question: string) => answer)
    const args = ['import', '--owner', ownerId(name), '--prune', '--json', root]
    const { out } = await world.run(args, { confirm })
    expect(confirm.mock.calls[0]?.[0]).toContain('Remove 1 files')
    expect(JSON.parse(out)).toMatchObject({ pruned })
    expect(await namesOf(name)).toEqual(names)
  })

  test('no confirmation if there is nothing to remove', async () => {
    const root = world.makeTree('nothing', { 'a.txt': '' })
    const confirm = jest.fn(async (_question: string) => true)
    await world.run(['import', '--owner', ownerId('hal'), '--prune', '--json', root], { confirm })
    expect(confirm).not.toHaveBeenCalled()
  })
})

describe('concurrent commands for one user', () => {
  test('imports without --prune run concurrently and duplicate nothing', async () => {
    const files = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`${index}.txt`, '']))
    const root = world.makeTree('both', files)
    const other = connectPostgres(world.databaseUrl, { connections: 1 })
    const args = ['import', '--owner', ownerId('ida'), '--json', root]
    const both = await Promise.all([world.run(args), world.run(args, { database: () => other })])
    await other.close()
    const imported = both.map(({ out }) => JSON.parse(out).imported as number)
    expect((imported[0] ?? 0) + (imported[1] ?? 0)).toBe(1_500)
    expect(await namesOf('ida')).toHaveLength(1_500)
  })

  test.each(['import', 'delete'])('%s fails while another command removes files', async (command) => {
    const other = connectPostgres(world.databaseUrl, { connections: 1 })
    await createImportRuns(other).own(ownerId('jan'))
    const args = command === 'import' ? [world.makeTree('locked', { 'a.txt': '' })] : ['--yes']
    await expect(world.run([command, '--owner', ownerId('jan'), ...args])).rejects.toMatchObject({ exitCode: 1 })
    await other.close()
  })
})

describe('delete', () => {
  test('delete removes all files of the user in batches, and none of other users', async () => {
    const files = Object.fromEntries(Array.from({ length: 1_203 }, (_, index) => [`${index}.txt`, '']))
    const root = world.makeTree('delete', files)
    for (const name of ['kim', 'lea']) await importFor(name, root)
    const owner = ownerId('kim')
    const deleteFor = async (...options: string[]) =>
      JSON.parse((await world.run(['delete', '--owner', owner, '--json', ...options])).out)
    expect(await deleteFor('--dry-run')).toEqual({ deleted: 1_203, dry_run: true })
    expect(await deleteFor('--yes')).toEqual({ deleted: 1_203 })
    expect(await deleteFor('--yes')).toEqual({ deleted: 0 })
    expect(await namesOf('lea')).toHaveLength(1_203)
  })

  test('delete removes nothing if declined, or without a terminal and --yes', async () => {
    await importFor('max', world.makeTree('declined', { 'a.txt': '' }))
    const args = ['delete', '--owner', ownerId('max')]
    await expect(world.run(args, { confirm: async () => false })).rejects.toMatchObject({ exitCode: 1 })
    await expect(world.run(args)).rejects.toMatchObject({ exitCode: 2 })
    expect(await namesOf('max')).toEqual(['a.txt'])
  })
})

test('an interrupted import saves its batch, prunes nothing, and is completed by the next run', async () => {
  const files = Object.fromEntries(Array.from({ length: 1_203 }, (_, index) => [`${index}.txt`, '']))
  const root = world.makeTree('interrupted', files)
  const interruption = new AbortController()
  const args = ['import', '--owner', ownerId('ned'), '--prune', '--yes', root]
  const change = {
    isTerminal: true,
    say: () => interruption.abort(),
    untilInterrupted: () => interruption.signal
  }
  await expect(world.run(args, change)).rejects.toMatchObject({
    exitCode: 130,
    message: /run the same command again to continue/
  })
  const saved = (await namesOf('ned')).length
  expect(saved).toBeGreaterThan(0)
  expect(saved).toBeLessThan(1_203)
  expect(await importFor('ned', root)).toMatchObject({ imported: 1_203 - saved, unchanged: saved })
})
