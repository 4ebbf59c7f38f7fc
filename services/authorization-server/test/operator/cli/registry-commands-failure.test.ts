import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../../support/registry-files.js'

const REPORTS = { client_id: 'reports-api', name: 'reports', audience: 'https://reports.example' }
const DOCUMENT = { resource_servers: [REPORTS], scopes: [{ name: 'reports.read', title: 'See your reports' }] }

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
  // Stands for another command that creates the same scope after the validation.
  await registry.run(`create function create_scope() returns trigger language plpgsql as $$
    begin
      insert into scopes (name, title) values ('reports.read', 'Of another command');
      return new;
    end $$`)
  await registry.run(`create trigger create_scope after insert on resource_servers
    for each row execute function create_scope()`)
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.clear()
})

describe('apply that fails after the first change', () => {
  test('has printed the change that was made; a repetition makes the others', async () => {
    expect(await registry.apply(DOCUMENT)).toEqual({
      code: 4,
      out: 'Created resource server reports-api\n',
      said: 'scope reports.read exists already'
    })
    expect(await registry.apply(DOCUMENT)).toMatchObject({ code: 0, out: 'Updated scope reports.read: title\n' })
  })

  test('prints with --json one document with only the change that was made', async () => {
    const { code, out, said } = await registry.apply(DOCUMENT, '--json')
    expect([code, said]).toEqual([4, 'scope reports.read exists already'])
    expect(JSON.parse(out)).toEqual({
      changes: [{ kind: 'resource server', id: 'reports-api', action: 'create', changes: {} }],
      dry_run: false
    })
  })
})

describe('a file in another encoding than UTF-8 is refused by its name, and nothing is changed', () => {
  const CLIENT = '{ client_id: a, name: Bücher, redirect_uris: [https://a.example/cb], scope: files.read }'
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'encodings-'))
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  /** Applies a file; every part has an encoding of its own. */
  function apply(document: Buffer, secret: Buffer) {
    const file = path.join(directory, 'registry.yaml')
    writeFileSync(file, document)
    writeFileSync(path.join(directory, 'a'), secret)
    return registry.valetkey('apply', '-f', file, '--secrets-dir', directory)
  }

  const SECRET = 'a-secret-of-another-server-é'

  test.each([
    { encoding: 'ISO-8859-1', encode: (text: string) => Buffer.from(text, 'latin1') },
    { encoding: 'UTF-16LE', encode: (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le') }
  ])('$encoding', async ({ encoding, encode }) => {
    const text = `clients: [${CLIENT}]`
    const document = await apply(encode(text), Buffer.from(SECRET))
    const secret = await apply(Buffer.from(text), encode(SECRET))
    const said = (file: string) => `the file ${path.join(directory, file)} is not UTF-8 but ${encoding}: `
    expect([document.code, document.said]).toEqual([2, expect.stringContaining(said('registry.yaml'))])
    expect([secret.code, secret.said]).toEqual([2, expect.stringContaining(said('a'))])
    expect((await registry.exported()).clients).toEqual([])
  })

  test('UTF-8 with a byte order mark is accepted', async () => {
    await apply(Buffer.from(`\uFEFFclients: [${CLIENT}]`), Buffer.from('\uFEFFa-secret-of-another-server-0123456789'))
    expect((await registry.exported()).clients).toMatchObject([{ name: 'Bücher' }])
  })
})
