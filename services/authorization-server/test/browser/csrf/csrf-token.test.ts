import { expect, test } from '@jest/globals'
import { createCsrfToken, isCsrfToken } from '../../../src/browser/csrf/csrf-token.js'

const OLD = 'an old key of at least thirty-two characters'
const NEW = 'a new key of at least thirty-two characters!'
const signedIn = { browserId: 'browser-1', sessionHash: 'session-hash' }
const signedOut = { browserId: 'browser-1', sessionHash: undefined }

// Values of an earlier version: forms that are open during an upgrade stay valid.
test.each([
  { key: NEW, owner: signedIn, value: '6l8wWtf7ImQJfPFrZ1tEV5NiJ_9t33MMU72bb99V5SQ' },
  { key: NEW, owner: signedOut, value: 'Y-khQK_d6Xhw4Q50181MARqRCLE9DuHjQGZckxrYB3E' },
  { key: OLD, owner: signedIn, value: 'tTr_0S8OY3JPx06U38wM7pBRzQTVjkfnw_P8EHXc8_U' },
  { key: OLD, owner: signedOut, value: 'uPJGs_uks8GBJXkJADaV3j6zuECcejRvwcZ5gAIayds' }
])('CSRF token: has the format of earlier versions, $value', ({ key, owner, value }) => {
  expect(createCsrfToken([key], owner)).toBe(value)
  expect(isCsrfToken(value, [NEW, OLD], owner)).toBe(true)
})

test('CSRF token: during a rotation the first key signs, and a removed key verifies nothing', () => {
  expect(createCsrfToken([NEW, OLD], signedIn)).toBe(createCsrfToken([NEW], signedIn))
  expect(isCsrfToken(createCsrfToken([OLD], signedIn), [NEW], signedIn)).toBe(false)
})

test.each([
  { name: 'no value', value: undefined },
  { name: 'an empty value', value: '' },
  { name: 'the value of another session', value: createCsrfToken([NEW], signedOut) },
  { name: 'the value of another browser', value: createCsrfToken([NEW], { ...signedIn, browserId: 'browser-2' }) },
  { name: 'a value that is cut short', value: createCsrfToken([NEW], signedIn).slice(0, -1) },
  { name: 'the same bytes in another spelling', value: `${createCsrfToken([NEW], signedIn)}=` }
])('CSRF token: $name is refused', ({ value }) => {
  expect(isCsrfToken(value, [NEW, OLD], signedIn)).toBe(false)
})
