import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { listFilesSchema } from '../../src/files/list-files-schema.js'
import type { ImportedFile } from '../../src/storage/file-record.js'
import { closed, faultsOf } from '../support/documented-responses.js'
import { filesOfPage, importedFile, openFileStore } from '../support/stored-files.js'

let opened: Awaited<ReturnType<typeof openFileStore>>
beforeAll(async () => {
  opened = await openFileStore()
})
afterAll(() => opened.close())

let owners = 0

/** Saves one file with `change` and returns its JSON. */
async function jsonOf(change: Partial<ImportedFile>): Promise<string> {
  owners += 1
  const ownerId = `owner ${owners}`
  await opened.files.save(ownerId, [importedFile('/file', change)])
  return (await opened.files.list({ ownerId, kinds: 'all', after: undefined, limit: 10 })).filesJson
}

test('a file has exactly the members of the contract, in order', async () => {
  const json = await jsonOf({
    fileId: '0197f0a1-2b3c-7d4e-8f50-617283940a5b',
    name: 'Invoice 2026-10.pdf',
    mimeType: 'application/pdf',
    size: 48_213n,
    createdAt: new Date('2026-10-31T17:02:11.000Z'),
    modifiedAt: new Date('2026-11-01T00:00:00.007Z')
  })
  expect(json).toBe(
    '{"id":"0197f0a1-2b3c-7d4e-8f50-617283940a5b","name":"Invoice 2026-10.pdf","mime_type":"application/pdf",' +
      '"size":48213,"created_at":"2026-10-31T17:02:11.000Z","modified_at":"2026-11-01T00:00:00.007Z"}'
  )
})

// Every code point that Postgres accepts: all but NUL and surrogates.
const character = fc.oneof(
  fc.constantFrom(...'"\\/\b\f\n\r\t\u007f\u0085\u2028\u2029\ufeff\ufffd\u202e\u0635😀\u0301{}[],:'),
  fc.integer({ min: 1, max: 0x1f }).map((code) => String.fromCodePoint(code)),
  fc.integer({ min: 1, max: 0x10ffff }).map((code) => String.fromCodePoint(code >= 0xd800 && code < 0xe000 ? 1 : code))
)
const text = (maxLength: number) => fc.array(character, { maxLength }).map((characters) => characters.join(''))
const time = fc.date({
  min: new Date('0001-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true
})
const anySize = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })

test('any file is listed with the saved values, as JSON that fits the schema', async () => {
  const schema = closed(listFilesSchema.response[200].content['application/json'].schema.properties.files)
  await fc.assert(
    fc.asyncProperty(text(255), text(60), time, time, anySize, async (name, mimeType, createdAt, modifiedAt, size) => {
      const json = await jsonOf({ name, mimeType, createdAt, modifiedAt, size })
      const [file] = filesOfPage({ filesJson: json })
      expect(file).toMatchObject({ name, mime_type: mimeType })
      expect(file?.created_at).toBe(createdAt.toISOString())
      expect(file?.modified_at).toBe(modifiedAt.toISOString())
      expect(json).toContain(`,"size":${size},`)
      expect(faultsOf(schema, [file])).toEqual([])
    }),
    { numRuns: 150 }
  )
})

test.each([
  { name: 'the first year', at: '0001-01-01T00:00:00.000Z' },
  { name: 'a year of three digits', at: '0987-06-05T04:03:02.001Z' },
  { name: 'before 1970', at: '1969-12-31T23:59:59.999Z' },
  { name: 'a leap day', at: '2024-02-29T12:00:00.010Z' },
  { name: 'the last year', at: '9999-12-31T23:59:59.999Z' }
])('a time in $name is RFC 3339 in UTC with milliseconds, and a page can start at it', async ({ at }) => {
  const ownerId = `at ${at}`
  const createdAt = new Date(at)
  const both = [importedFile('/1', { createdAt, modifiedAt: createdAt }), importedFile('/2', { createdAt })]
  await opened.files.save(ownerId, both)
  const first = await opened.files.list({ ownerId, kinds: 'all', after: undefined, limit: 1 })
  expect(filesOfPage(first)[0]).toMatchObject({ created_at: at, modified_at: expect.any(String) })
  expect(first.next?.createdAt).toEqual(createdAt)
  const second = await opened.files.list({ ownerId, kinds: 'all', after: first.next, limit: 1 })
  const ids = [...filesOfPage(first), ...filesOfPage(second)].map((file) => file.id)
  expect(ids).toEqual(both.map((file) => file.fileId).sort())
})

test("the database's time zone and date style do not change the JSON", async () => {
  const { database } = opened
  const name = new URL(opened.url).pathname.slice(1)
  for (const setting of ["timezone = 'Australia/Lord_Howe'", "datestyle = 'SQL, DMY'"]) {
    await database.query({ name: setting, text: `alter database ${name} set ${setting}`, values: [] })
  }
  const elsewhere = opened.connect()
  try {
    const at = '0001-01-01T00:00:00.000Z'
    await opened.files.save('zoned', [importedFile('/1', { createdAt: new Date(at) }), importedFile('/2')])
    const page = await elsewhere.files.list({ ownerId: 'zoned', kinds: 'all', after: undefined, limit: 1 })
    const rest = await elsewhere.files.list({ ownerId: 'zoned', kinds: 'all', after: page.next, limit: 1 })
    expect(page.next?.createdAt.toISOString()).toBe('2026-01-01T00:00:00.000Z')
    expect(filesOfPage(rest)[0]?.created_at).toBe(at)
  } finally {
    await elsewhere.database.close()
  }
})

test.each([
  { column: 'created_at', value: 'infinity' },
  { column: 'created_at', value: '0001-12-31T00:00:00Z BC' },
  { column: 'modified_at', value: '10000-01-01T00:00:00Z' },
  { column: 'name', value: 'n'.repeat(1_021) },
  { column: 'mime_type', value: 't'.repeat(256) }
])('a check constraint refuses a value that the list cannot contain: $column', async ({ column, value }) => {
  await opened.files.save('strange', [importedFile('/1')])
  const text = `update files set ${column} = $1 where owner_id = 'strange'`
  await expect(opened.database.query({ name: `set_${column}`, text, values: [value] })).rejects.toThrow(
    `files_${column}_`
  )
})
