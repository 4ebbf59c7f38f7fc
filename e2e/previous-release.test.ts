import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { root } from './support/documents.js'
import { readPreviousRelease } from './support/read-previous-release.mjs'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-previous-release-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function readRecord(record: unknown) {
  const file = path.join(directory, 'previous-release.json')
  writeFileSync(file, JSON.stringify(record))
  return readPreviousRelease(file)
}

test('the record of this checkout is valid', () => {
  expect(() => readPreviousRelease(path.join(root, 'infra/previous-release.json'))).not.toThrow()
})

test('a record of a release: version and commit', () => {
  expect(readRecord({ version: '1.0.0', commit: COMMIT })).toEqual({ version: '1.0.0', commit: COMMIT })
})

test('a record without a release: undefined', () => {
  expect(readRecord({ version: null, commit: null })).toBeUndefined()
})

test.each([
  { name: 'no members', record: {} },
  { name: 'a version alone', record: { version: '1.0.0', commit: null } },
  { name: 'a commit alone', record: { version: null, commit: COMMIT } },
  { name: 'an abbreviated commit', record: { version: '1.0.0', commit: COMMIT.slice(0, 7) } },
  { name: 'a tag in place of the commit', record: { version: '1.0.0', commit: 'v1.0.0' } },
  { name: 'an empty version', record: { version: '', commit: COMMIT } }
])('a record with $name is refused, so that the check is not skipped by mistake', ({ record }) => {
  expect(() => readRecord(record)).toThrow(/previous-release\.json names/)
})
