import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../packages/dev-stack/src/index.js'
import { connectPostgres, type Database, migrate } from '../packages/service-kit/src/index.js'
import { FILE_KINDS, FILE_SCOPES } from '../services/resource-server/src/files/file-scopes.js'
import { code, matches, read, rowsBelow, sorted } from './support/documents.js'

const MIGRATIONS = path.resolve(import.meta.dirname, '../services/authorization-server/migrations')
const SCOPE_NAMES = sorted(FILE_SCOPES.map(({ scope }) => scope))

describe('the file scopes of the resource server', () => {
  let testDatabase: TestDatabase
  let database: Database

  beforeAll(async () => {
    testDatabase = await createTestDatabase()
    await migrate(testDatabase.url, MIGRATIONS)
    database = connectPostgres(testDatabase.url, { connections: 1 })
  })
  afterAll(async () => {
    await database.close()
    await testDatabase.drop()
  })

  test('are exactly the built-in scopes of the authorization server', async () => {
    const statement = { name: 'built_in_scopes', text: 'select name from scopes where built_in', values: [] }
    const builtIn = await database.query<{ name: string }>(statement)
    expect(sorted(builtIn.map(({ name }) => name))).toEqual(SCOPE_NAMES)
  })
})

describe('the documents name exactly the file scopes and kinds', () => {
  test.each(['docs/contract.md', 'docs/clients.md'])('%s: the scopes', (page) => {
    expect(sorted(matches(read(page), /`(files\.[a-z]+(?::[a-z]+)?)`/g))).toEqual(SCOPE_NAMES)
  })

  test('docs/contract.md: the scopes in its table', () => {
    const rows = read('docs/contract.md')
      .split('\n')
      .filter((line) => line.startsWith('| `files.'))
    expect(sorted(rows.flatMap((row) => code(row.split('|')[1])))).toEqual(SCOPE_NAMES)
  })

  test('docs/glossary.md: the kinds', () => {
    const [, meaning = ''] =
      rowsBelow(read('docs/glossary.md'), '## Operation and code').find(([word]) => word === 'file kind') ?? []
    expect(sorted(meaning.split(/, | or /))).toEqual(sorted(FILE_KINDS))
  })
})
