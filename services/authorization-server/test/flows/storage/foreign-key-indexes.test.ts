import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

/** Foreign keys whose columns do not begin any index. A partial index without nulls is enough: no null refers to a row. */
const WITHOUT_INDEX = `select k.conrelid::regclass::text as table, k.conname as key from pg_constraint k
  where k.contype = 'f' and not exists (
    select from pg_index i where i.indrelid = k.conrelid
      and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)
  order by 1, 2`

test('every foreign key has an index, so that a deletion does not read the whole referring table', async () => {
  expect(await opened.run(WITHOUT_INDEX)).toEqual([])
})
