import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createScopeStore, type ScopeStore } from '../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let stores: MigratedDatabase
let scopes: ScopeStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  scopes = createScopeStore(stores.database)
})
afterAll(() => stores.close())

const LONG = expect.stringMatching(/^.{10,}$/)

test('the four of the contract are built in, each in plain words (contract 4)', async () => {
  const found = await scopes.list()
  expect(found.map(({ name }) => name)).toEqual([
    'files.read',
    'files.read:documents',
    'files.read:images',
    'files.read:media'
  ])
  for (const { title, description, translations, builtIn } of found) {
    expect([title.length > 10, description.length > 10, builtIn]).toEqual([true, true, true])
    for (const language of ['ar', 'de']) expect(translations[language]).toEqual({ title: LONG, description: LONG })
  }
})

test('created scopes are listed after the built-in ones, by name', async () => {
  expect(
    await scopes.create({ name: 'z.last', title: 'Last', description: 'A sentence.', translations: {} }, NOTE)
  ).toBe(true)
  expect(
    await scopes.create(
      { name: 'a.first', title: 'First', description: '', translations: { de: { title: 'Erster' } } },
      NOTE
    )
  ).toBe(true)
  expect((await scopes.list()).slice(4)).toEqual([
    { name: 'a.first', title: 'First', description: '', translations: { de: { title: 'Erster' } }, builtIn: false },
    { name: 'z.last', title: 'Last', description: 'A sentence.', translations: {}, builtIn: false }
  ])
})

test('of ten concurrent creations with one name, one succeeds and is not overwritten', async () => {
  const scope = (index: number) =>
    scopes.create({ name: 'contested', title: `Title ${index}`, description: '', translations: {} }, NOTE)
  const created = await Promise.all(Array.from({ length: 10 }, (_, index) => scope(index)))
  expect(created.filter(Boolean)).toHaveLength(1)
  expect(await scopes.create({ name: 'files.read', title: 'Another', description: '', translations: {} }, NOTE)).toBe(
    false
  )
  const found = await scopes.list()
  expect(found.find(({ name }) => name === 'contested')?.title).toBe(`Title ${created.indexOf(true)}`)
  expect(found.find(({ name }) => name === 'files.read')).toMatchObject({ builtIn: true })
})
