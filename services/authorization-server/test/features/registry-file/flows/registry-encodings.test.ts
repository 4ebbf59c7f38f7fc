import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../support/registry-files.js'

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.clear()
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
