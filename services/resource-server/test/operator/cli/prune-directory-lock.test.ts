import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres } from '@valetkey/service-kit'
import { createFilesWorld, type FilesWorld, ownerId } from '../../support/files-world.js'
import { readStoredFiles } from '../../support/stored-files.js'

let world: FilesWorld
beforeAll(async () => {
  world = await createFilesWorld()
})
afterAll(() => world.close())

test('prune removes nothing if the lock is lost during the confirmation', async () => {
  const root = world.makeTree('asked', { 'a.txt': '', 'gone.txt': '' })
  const owner = ['--owner', ownerId('ann')]
  await world.run(['import', ...owner, root])
  rmSync(path.join(root, 'gone.txt'))
  const other = connectPostgres(world.databaseUrl, { connections: 1 })
  const confirm = async () => {
    await other.query({
      name: 'end_others',
      text: `select pg_terminate_backend(pid, 5000) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()`,
      values: []
    })
    writeFileSync(path.join(root, 'new.txt'), '')
    await world.run(['import', ...owner, root], { database: () => other })
    return true
  }
  const pruning = world.run(['import', ...owner, '--prune', root], { confirm })
  await expect(pruning).rejects.toMatchObject({ exitCode: 1 })
  const names = (await readStoredFiles(other, ownerId('ann'))).map((file) => file.name)
  await other.close()
  expect(names.sort()).toEqual(['a.txt', 'gone.txt', 'new.txt'])
})
