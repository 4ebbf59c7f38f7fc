import { expect, test } from '@jest/globals'
import { accountPage } from '../../../src/browser/login/account-page.js'

const requestWith = (query: string) => ({ url: `/login?${query}`, raw: { url: `/login?${query}` } }) as never

test.each(['apps', 'sign-ins', 'developer/new', 'developer/apps/Zm9v_-1/edit'])('page=%s is a page', (page) => {
  expect(accountPage(requestWith(`page=${encodeURIComponent(page)}`))).toBe(page)
})

// The page is the end of an address, so it must not lead elsewhere.
test.each([
  '',
  '/evil.example',
  '//evil.example',
  '../oauth/authorize',
  'apps/..',
  'apps/../../logout',
  'apps?done=ended',
  'apps#x',
  'apps%2f',
  'apps\\x',
  'https:evil.example',
  'a/b/c/d/e',
  `a${'b'.repeat(64)}`,
  'apps\n'
])('page=%j is none', (page) => {
  expect(accountPage(requestWith(`page=${encodeURIComponent(page)}`))).toBeUndefined()
})

test('in an authorization request, page is a parameter of the client', () => {
  expect(accountPage(requestWith('client_id=a&page=apps'))).toBeUndefined()
})
