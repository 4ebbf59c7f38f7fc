import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { createScopeStore, type ScopeStore } from '../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { NEW_SCOPE } from '../../support/new-scope.js'
import { untilBlocked } from '../../support/until-blocked.js'

const MESSAGES = path.resolve(import.meta.dirname, '../../../messages')

let stores: MigratedDatabase
let scopes: ScopeStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  scopes = createScopeStore(stores.database)
})
afterAll(() => stores.close())

const LONG = expect.stringMatching(/^.{10,}$/)
const TEXTS = { title: LONG, description: LONG }
const TRANSLATIONS = Object.fromEntries(
  readdirSync(MESSAGES).flatMap((file) => (file === 'en.json' ? [] : [[path.parse(file).name, TEXTS]]))
)

// e2e/file-scopes.test.ts compares their names with the scopes of the resource server.
const OF_REPORTS = { audience: 'https://reports.example', isDefault: true, isDiscoverable: true, isSelfService: true }

test('every built-in scope has a title and a description in each language of the pages (contract 4)', async () => {
  const found = await scopes.list()
  expect(found.length).toBeGreaterThan(0)
  for (const scope of found)
    expect(scope).toEqual({
      name: scope.name,
      number: scope.number,
      ...TEXTS,
      translations: TRANSLATIONS,
      builtIn: true,
      audience: undefined,
      isDefault: false,
      isDiscoverable: false,
      isSelfService: false
    })
})

test('created scopes are listed after the built-in ones, by name', async () => {
  const builtIn = await scopes.list()
  expect(await scopes.create({ ...NEW_SCOPE, name: 'z.last', title: 'Last', description: 'A sentence.' }, NOTE)).toBe(
    true
  )
  expect(
    await scopes.create(
      { ...NEW_SCOPE, ...OF_REPORTS, name: 'a.first', title: 'First', translations: { de: { title: 'Erster' } } },
      NOTE
    )
  ).toBe(true)
  expect(await scopes.list()).toEqual([
    ...builtIn,
    {
      ...NEW_SCOPE,
      ...OF_REPORTS,
      name: 'a.first',
      title: 'First',
      translations: { de: { title: 'Erster' } },
      number: builtIn.length + 2,
      builtIn: false
    },
    {
      ...NEW_SCOPE,
      name: 'z.last',
      title: 'Last',
      description: 'A sentence.',
      number: builtIn.length + 1,
      builtIn: false
    }
  ])
})

describe('numbers of scopes', () => {
  const create = (name: string) => scopes.create({ ...NEW_SCOPE, name, title: name }, NOTE)
  const numberOf = async (wanted: string) => (await scopes.list()).find(({ name }) => name === wanted)?.number ?? 0

  test('grow with each creation, and are not used again after a deletion', async () => {
    await create('number.first')
    const first = await numberOf('number.first')
    await scopes.remove('number.first', false, NOTE)
    await create('number.first')
    expect(await numberOf('number.first')).toBeGreaterThan(first)
  })

  test('are committed in their order: a later number waits for the earlier transaction', async () => {
    const slow = new Client({ connectionString: stores.url })
    await slow.connect()
    await slow.query('begin')
    await slow.query(`insert into scopes (name, title) values ('number.slow', 'x')`)
    const creating = create('number.fast')
    await untilBlocked(stores.run)
    await slow.query('commit')
    await slow.end()
    await creating
    expect(await numberOf('number.fast')).toBeGreaterThan(await numberOf('number.slow'))
  })
})

test('of ten concurrent creations with one name, one succeeds and is not overwritten', async () => {
  const scope = (index: number) => scopes.create({ ...NEW_SCOPE, name: 'contested', title: `Title ${index}` }, NOTE)
  const created = await Promise.all(Array.from({ length: 10 }, (_, index) => scope(index)))
  expect(created.filter(Boolean)).toHaveLength(1)
  expect(await scopes.create({ ...NEW_SCOPE, name: 'files.read', title: 'Another' }, NOTE)).toBe(false)
  const found = await scopes.list()
  expect(found.find(({ name }) => name === 'contested')?.title).toBe(`Title ${created.indexOf(true)}`)
  expect(found.find(({ name }) => name === 'files.read')).toMatchObject({ builtIn: true })
})
