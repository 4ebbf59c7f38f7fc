import { expect, test } from '@jest/globals'
import type { FileAccess } from '../../src/files/file-scopes.js'
import { readPageToken, writePageToken } from '../../src/files/page-token.js'

const OLD_KEY = 'old-key-old-key-old-key-old-key-old-key'
const NEW_KEY = 'new-key-new-key-new-key-new-key-new-key'
const alice: FileAccess = { ownerId: 'alice', kinds: 'all' }
const position = {
  createdAt: new Date('2026-10-31T17:02:11.123Z'),
  fileId: '0197f0a1-2b3c-7d4e-8f50-617283940a5b'
}
const token = writePageToken(position, alice, [NEW_KEY, OLD_KEY])

test('a page token contains its position', () => {
  expect(readPageToken(token, alice, [NEW_KEY])).toEqual(position)
})

test('a page token contains a position before 1970', () => {
  const old = { ...position, createdAt: new Date('1901-02-03T04:05:06.007Z') }
  expect(readPageToken(writePageToken(old, alice, [NEW_KEY]), alice, [NEW_KEY])).toEqual(old)
})

test('the first key signs and every key verifies, so keys can be rotated', () => {
  const oldToken = writePageToken(position, alice, [OLD_KEY])
  expect(readPageToken(oldToken, alice, [NEW_KEY, OLD_KEY])).toEqual(position)
  expect(readPageToken(oldToken, alice, [NEW_KEY])).toBeUndefined()
  expect(readPageToken(token, alice, [OLD_KEY])).toBeUndefined()
})

test.each([
  { name: 'another user', access: { ownerId: 'bob', kinds: 'all' } },
  { name: 'a narrower scope', access: { ownerId: 'alice', kinds: ['images'] } }
] as const)('a page token is invalid for $name', ({ access }) => {
  expect(readPageToken(token, access, [NEW_KEY])).toBeUndefined()
})

test('a page token is invalid for an access token that covers other kinds', () => {
  const images = writePageToken(position, { ownerId: 'alice', kinds: ['images'] }, [NEW_KEY])
  expect(readPageToken(images, alice, [NEW_KEY])).toBeUndefined()
  expect(readPageToken(images, { ownerId: 'alice', kinds: ['images', 'media'] }, [NEW_KEY])).toBeUndefined()
})

const SELECTION = '0197f0a1-2b3c-7d4e-8f50-000000000001'
const OTHER = '0197f0a1-2b3c-7d4e-8f50-000000000002'

test('a page token of a selection is invalid for another selection, for none, and for all files', () => {
  const access: FileAccess = { ownerId: 'alice', kinds: [], selectionId: SELECTION }
  const selected = writePageToken(position, access, [NEW_KEY])
  expect(readPageToken(selected, access, [NEW_KEY])).toEqual(position)
  for (const other of [{ ...access, selectionId: OTHER }, { ownerId: 'alice', kinds: [] }, alice] as FileAccess[]) {
    expect(readPageToken(selected, other, [NEW_KEY])).toBeUndefined()
  }
  expect(readPageToken(token, access, [NEW_KEY])).toBeUndefined()
})

test.each([
  { name: 'empty', bad: '' },
  { name: 'too short', bad: token.slice(0, -4) },
  { name: 'too long', bad: `${token}AAAA` },
  { name: 'padded', bad: `${token}=` },
  { name: 'with a space', bad: `${token} ` },
  { name: 'not base64url', bad: 'ä'.repeat(54) },
  { name: 'in the alphabet of base64', bad: '+'.repeat(54) }
])('an invalid page token is refused: $name', ({ bad }) => {
  expect(readPageToken(bad, alice, [NEW_KEY])).toBeUndefined()
})

test('a page token is invalid if any bit differs', () => {
  const bytes = Buffer.from(token, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    expect(readPageToken(changed.toString('base64url'), alice, [NEW_KEY])).toBeUndefined()
  }
})

// Values of an earlier version: clients that read the pages of a list during an upgrade go on.
test.each([
  { key: OLD_KEY, value: 'AAABoZLpYrMBl_ChKzx9To9QYXKDlApbsrxvXo-N2PvlSvdcsKMIvQ' },
  { key: NEW_KEY, value: 'AAABoZLpYrMBl_ChKzx9To9QYXKDlApbDswG-D5GXJpUo-Zud6Pv3Q' }
])('a page token has the format of earlier versions: $value', ({ key, value }) => {
  const images: FileAccess = { ownerId: 'alice', kinds: ['images'] }
  expect(writePageToken(position, images, [key])).toBe(value)
  expect(readPageToken(value, images, [NEW_KEY, OLD_KEY])).toEqual(position)
})
