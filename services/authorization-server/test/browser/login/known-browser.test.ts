import { expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { knowsAccount, rememberAccount } from '../../../src/browser/login/known-browser.js'

const OLD = 'an old key of at least thirty-two characters'
const NEW = 'a new key of at least thirty-two characters!'
const ALICE = canonicalName('alice')

// Values of an earlier version: the cookies of browsers stay valid.
test.each([
  { key: NEW, value: 'fePKRnvHBUgIFjT3oQkbZ4ZxKLNjC_9XeFFuiPExgyE' },
  { key: OLD, value: 'OmazAWXIroousZyo9CMI_qzcKIWH2SbMpwfYDuppc0c' }
])('known browser: has the format of earlier versions, $value', ({ key, value }) => {
  expect(rememberAccount(undefined, ALICE, [key])).toBe(value)
  expect(knowsAccount(value, ALICE, [NEW, OLD])).toBe(true)
})

test('known browser: finds each of its eight newest accounts, and no other', () => {
  const accounts = Array.from({ length: 9 }, (_, index) => canonicalName(`user-${index}`))
  const cookie = accounts.reduce<string | undefined>((value, account) => rememberAccount(value, account, [NEW]), '')
  const known = accounts.filter((account) => knowsAccount(cookie, account, [NEW, OLD]))
  expect(known).toEqual(accounts.slice(1))
})

test.each([
  { name: 'no cookie', cookie: undefined },
  { name: 'the entry of another account', cookie: rememberAccount(undefined, canonicalName('bob'), [NEW]) },
  { name: 'the entry of a removed key', cookie: rememberAccount(undefined, ALICE, ['a key that was removed']) },
  { name: 'an entry that is cut short', cookie: rememberAccount(undefined, ALICE, [NEW]).slice(1) }
])('known browser: $name exempts from no limit', ({ cookie }) => {
  expect(knowsAccount(cookie, ALICE, [NEW, OLD])).toBe(false)
})
