import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type ClientLogoStore, createClientLogoStore } from '../../../src/storage/postgres/client-logos.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let opened: MigratedDatabase
let logos: ClientLogoStore

beforeAll(async () => {
  opened = await createMigratedDatabase()
  logos = createClientLogoStore(opened.database)
})
afterAll(() => opened.close())

const HASH = 'ab'.repeat(32)
const image = Buffer.from('image')

test('a logo is found by its hash; the same logo twice, in parallel, is one', async () => {
  expect(await logos.find(HASH)).toBeUndefined()
  await Promise.all([1, 2, 3].map(() => logos.save({ hash: HASH, image })))
  expect(await logos.find(HASH)).toEqual({ image, isPublic: false })
  expect(await opened.run('select 1 from client_logos')).toHaveLength(1)
})

test.each([
  { name: 'a hash in upper case', hash: 'AB'.repeat(32), content: image },
  { name: 'a hash that is too short', hash: 'ab', content: image },
  { name: 'an image over 400,000 bytes', hash: 'cd'.repeat(32), content: Buffer.alloc(400_001) }
])('Postgres refuses $name', async ({ hash, content }) => {
  await expect(logos.save({ hash, image: content })).rejects.toThrow(/check constraint/)
})

test('saved again, it is as old as a new one', async () => {
  await opened.run("update client_logos set created_at = now() - interval '2 days'")
  await logos.save({ hash: HASH, image })
  expect(await opened.run("select 1 from client_logos where created_at > now() - interval '1 hour'")).toHaveLength(1)
})
