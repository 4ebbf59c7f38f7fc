import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createRecordAuthentication } from '../../../src/platform/encryption/authenticate-records.js'

const OLD = 'an old key of at least thirty-two characters'
const NEW = 'a new key of at least thirty-two characters!'

test('record authentication: a protected record is opened under the same key, for any content', () => {
  const records = createRecordAuthentication([NEW])
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: 'binary' }), (key, content) => {
      expect(records.open(key, records.protect(key, content))).toBe(content)
    })
  )
})

test.each([
  { name: 'another key of Redis', change: (stored: string) => stored, key: 'vk:code:other' },
  { name: 'another content', change: (stored: string) => stored.replace('alice', 'mallory') },
  { name: 'a longer content', change: (stored: string) => `${stored} ` },
  { name: 'no content', change: () => '' },
  { name: 'no MAC', change: () => '{"user":"alice"}' },
  { name: 'a MAC cut short', change: (stored: string) => stored.slice(1) },
  { name: 'another separator', change: (stored: string) => stored.replace(' ', '\n') }
])('record authentication: $name is refused and reported', ({ change, key = 'vk:code:mine' }) => {
  const forged: string[] = []
  const records = createRecordAuthentication([NEW], (kind) => forged.push(kind))
  const stored = records.protect('vk:code:mine', '{"user":"alice"}')
  expect(records.open(key, change(stored))).toBeUndefined()
  expect(forged).toEqual(['vk:code'])
})

test('record authentication: during a rotation both keys verify and the first one protects', () => {
  const before = createRecordAuthentication([OLD])
  const during = createRecordAuthentication([NEW, OLD])
  const after = createRecordAuthentication([NEW])
  expect(during.open('k', before.protect('k', 'content'))).toBe('content')
  expect(after.open('k', during.protect('k', 'content'))).toBe('content')
  expect(after.open('k', before.protect('k', 'content'))).toBeUndefined()
})

// Values of an earlier version: codes in Redis stay valid.
test.each([
  { key: NEW, mac: 'PaniBoAFFIJE-28XwxgVuRfsgbpjS92crIRsS_8KKDo' },
  { key: OLD, mac: '-eu_9BwzAOs4GqHfkS43TLUiQO9Le4VFPgA5lzf1aZw' }
])('record authentication: has the format of earlier versions, $mac', ({ key, mac }) => {
  const content = '{"user":"ålice"}'
  expect(createRecordAuthentication([key]).protect('vk:code:mine', content)).toBe(`${mac} ${content}`)
  expect(createRecordAuthentication([NEW, OLD]).open('vk:code:mine', `${mac} ${content}`)).toBe(content)
})
