import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createFilesWorld, type FilesWorld, ownerId } from '../../support/files-world.js'
import { readStoredFiles } from '../../support/stored-files.js'

let world: FilesWorld
beforeAll(async () => {
  world = await createFilesWorld()
})
afterAll(() => world.close())

const FILES = { 'a.txt': 'a', 'b/c.txt': 'cc', 'b/d/e.txt': 'eee', 'b/d/f.png': 'ffff' }
const NEW = { imported: 4, updated: 0, unchanged: 0 }
const SAME = { imported: 0, updated: 0, unchanged: 4 }

async function importAs(name: string, directory: string, ...options: string[]) {
  const { out } = await world.run(['import', '--owner', ownerId(name), '--json', ...options, directory])
  return JSON.parse(out)
}

const pathOf = (name: string) => path.join(world.directory, name)
const filesOf = (name: string) => readStoredFiles(world.database, ownerId(name))
const idsOf = async (name: string) => (await filesOf(name)).map((file) => `${file.name} ${file.fileId}`).sort()

/** Moves a folder like a disk that is mounted somewhere else. */
function move(from: string, to: string): string {
  mkdirSync(path.dirname(pathOf(to)), { recursive: true })
  renameSync(pathOf(from), pathOf(to))
  return pathOf(to)
}

test('files keep their ids when their directory is mounted somewhere else, and again at the first place', async () => {
  expect(await importAs('ann', world.makeTree('one/ann', FILES))).toMatchObject(NEW)
  const ids = await idsOf('ann')
  const there = move('one/ann', 'two/files')
  expect(await importAs('ann', there, '--prune', '--dry-run')).toMatchObject({ ...SAME, pruned: 0 })
  expect(await importAs('ann', there, '--prune', '--yes')).toMatchObject({ ...SAME, pruned: 0 })
  expect(await importAs('ann', pathOf('one/ann'), '--prune', '--yes')).toMatchObject({ pruned: 0 })
  expect(await importAs('ann', move('two/files', 'one/ann'))).toMatchObject(SAME)
  expect(await idsOf('ann')).toEqual(ids)
})

test('changed, new and removed files do not hide that the directory was mounted somewhere else', async () => {
  await importAs('bea', world.makeTree('bea/one', FILES))
  const there = move('bea/one', 'bea/two')
  writeFileSync(path.join(there, 'a.txt'), 'changed')
  writeFileSync(path.join(there, 'new.txt'), '')
  rmSync(path.join(there, 'b/c.txt'))
  const counts = { imported: 1, updated: 1, unchanged: 2, pruned: 1 }
  expect(await importAs('bea', there, '--prune', '--yes')).toMatchObject(counts)
})

test('a copy without its times is recognized if the first directory is gone', async () => {
  await importAs('cai', world.makeTree('cai/one', FILES))
  cpSync(pathOf('cai/one'), pathOf('cai/two'), { recursive: true })
  rmSync(pathOf('cai/one'), { recursive: true })
  expect(await importAs('cai', pathOf('cai/two'))).toMatchObject({ imported: 0 })
  expect(await filesOf('cai')).toHaveLength(4)
})

test('a complete copy with its times takes the place of the first directory', async () => {
  const root = world.makeTree('cam/one', FILES)
  for (const file of Object.keys(FILES)) utimesSync(path.join(root, file), 1_700_000_000, 1_700_000_000)
  await importAs('cam', root)
  cpSync(root, pathOf('cam/two'), { recursive: true, preserveTimestamps: true })
  expect(await importAs('cam', pathOf('cam/two'))).toMatchObject(SAME)
  expect(await importAs('cam', root)).toMatchObject(SAME)
})

test('a part of a directory that was mounted somewhere else is recognized', async () => {
  await importAs('dan', world.makeTree('dan/one', FILES))
  const there = move('dan/one', 'dan/two')
  expect(await importAs('dan', path.join(there, 'b'))).toMatchObject({ imported: 0, unchanged: 3 })
  expect(await importAs('dan', there, '--prune', '--yes')).toMatchObject({ ...SAME, pruned: 0 })
  expect(await importAs('dan', move('dan/two/b', 'dan/alone'))).toMatchObject({ imported: 0, unchanged: 3 })
})

test('a directory around imported ones, and its parts, name the same files at every place', async () => {
  const root = world.makeTree('eva/one', FILES)
  expect(await importAs('eva', path.join(root, 'b'))).toMatchObject({ imported: 3 })
  expect(await importAs('eva', root)).toMatchObject({ imported: 1, unchanged: 3 })
  const there = move('eva/one', 'eva/two')
  // A root below another one moves with it.
  expect(await importAs('eva', there, '--prune', '--yes')).toMatchObject({ ...SAME, pruned: 0 })
  expect(await importAs('eva', path.join(there, 'b/d'))).toMatchObject({ imported: 0, unchanged: 2 })
})

test('two directories with the same names are two, also if they were written at the same time', async () => {
  const roots = [world.makeTree('fay/one', FILES), world.makeTree('fay/two', FILES)]
  for (const root of roots) expect(await importAs('fay', root)).toMatchObject(NEW)
  expect(await filesOf('fay')).toHaveLength(8)
  for (const root of roots)
    expect(await importAs('fay', root, '--prune', '--yes')).toMatchObject({ ...SAME, pruned: 0 })
})

test('a directory with the same names but other files is another one, although the first is gone', async () => {
  await importAs('gus', world.makeTree('gus/card1', { 'DCIM/1.jpg': 'a', 'DCIM/2.jpg': 'bb' }))
  rmSync(pathOf('gus/card1'), { recursive: true })
  await importAs('gus', world.makeTree('gus/card2', { 'DCIM/1.jpg': 'ccc', 'DCIM/2.jpg': 'dddd' }))
  expect(await filesOf('gus')).toHaveLength(4)
})

describe('files of earlier releases, which have absolute paths', () => {
  /** Leaves the files as the import of an earlier release left them. */
  async function asBefore(name: string, root: string): Promise<void> {
    await importAs(name, root)
    const paths = Object.keys(FILES).map((file) => path.join(root, file))
    await world.database.query({
      name: 'as_before',
      text: `update files set root_id = null, source_path = given.path, source_hash = given.hash
        from unnest($2::text[], $3::bytea[]) as given (path, hash)
        where owner_id = $1 and given.path like '%/' || files.source_path`,
      values: [ownerId(name), paths, paths.map((file) => createHash('sha256').update(file).digest())]
    })
    await world.database.query({
      name: 'forget_roots',
      text: 'delete from import_roots where owner_id = $1',
      values: [ownerId(name)]
    })
  }

  test.each([
    { name: 'at the same place', place: undefined },
    { name: 'mounted somewhere else', place: 'new' }
  ])('keep their ids: $name', async ({ name, place }) => {
    const root = world.makeTree(`before/${name}/old`, FILES)
    await asBefore(name, root)
    const ids = await idsOf(name)
    const there = place === undefined ? root : move(`before/${name}/old`, `before/${name}/${place}`)
    expect(await importAs(name, there, '--prune', '--dry-run')).toMatchObject({ ...SAME, pruned: 0 })
    rmSync(path.join(there, 'a.txt'))
    expect(await importAs(name, there, '--prune', '--yes')).toMatchObject({ unchanged: 3, pruned: 1 })
    expect(await importAs(name, there, '--prune', '--yes')).toMatchObject({ unchanged: 3, pruned: 0 })
    expect(await idsOf(name)).toEqual(ids.filter((id) => !id.startsWith('a.txt')))
    expect(await importAs(name, move(path.relative(world.directory, there), `before/${name}/third`))).toMatchObject({
      imported: 0,
      unchanged: 3
    })
  })

  test('are removed by prune if the same files have been imported again', async () => {
    const root = world.makeTree('before/twice/old', FILES)
    await importAs('ida', root)
    await world.database.query({
      name: 'as_by_both_releases',
      text: `insert into files
          (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
        select gen_random_uuid(), owner_id, $2 || source_path, sha256(convert_to($2 || source_path, 'UTF8')), name, mime_type,
          kind, size, created_at, modified_at
        from files where owner_id = $1`,
      values: [ownerId('ida'), `${root}/`]
    })
    expect(await importAs('ida', root)).toMatchObject(SAME)
    expect(await filesOf('ida')).toHaveLength(8)
    expect(await importAs('ida', root, '--prune', '--yes')).toMatchObject({ ...SAME, pruned: 4 })
  })

  test('are removed by prune if their directory is gone', async () => {
    const root = world.makeTree('before/gone/old', FILES)
    world.makeTree('before/gone/beside', {})
    await asBefore('hal', root)
    rmSync(root, { recursive: true })
    expect(await importAs('hal', root, '--prune', '--yes')).toMatchObject({ pruned: 4 })
  })
})
