import { expect, test } from '@jest/globals'
import { isMailAddress, readMailbox } from '../src/mail-address.js'

test.each(['bob@example.com', 'b.o-b+x_y@mail.example', 'bob@localhost', 'bob@münchen.example', 'jörg@example.com'])(
  '%s is one address',
  (text) => {
    expect(isMailAddress(text)).toBe(true)
  }
)

test.each([
  '',
  'bob',
  '@example.com',
  'bob@',
  'bob@@example.com',
  'a@b@c',
  'bob@example..com',
  'bob@.example',
  'bob@example.',
  'bob@-example.com',
  'bob@example-.com',
  '.bob@example.com',
  'bob.@example.com',
  'b..b@example.com',
  'bob@example.com, eve@example.com',
  'bob@example.com;eve@example.com',
  'a b@example.com',
  'bob@exa mple.com',
  'bob@example.com\r\nBcc: eve@example.com',
  '<bob@example.com>',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(64)}.com`,
  `a@${'b.'.repeat(130)}com`,
  'bob@exa_mple.com'
])('%j is no address', (text) => {
  expect(isMailAddress(text)).toBe(false)
})

test.each([
  { text: 'no-reply@example.com', name: '', address: 'no-reply@example.com' },
  { text: 'Valetkey <no-reply@example.com>', name: 'Valetkey', address: 'no-reply@example.com' },
  { text: '"Smith, Sons & Co" <a@example.com>', name: 'Smith, Sons & Co', address: 'a@example.com' },
  { text: 'Müller GmbH <a@example.com>', name: 'Müller GmbH', address: 'a@example.com' },
  { text: '<a@example.com>', name: '', address: 'a@example.com' }
])('$text is a mailbox (RFC 5322 §3.4)', ({ text, name, address }) => {
  expect(readMailbox(text)).toEqual({ name, address })
})

test.each([
  'Valetkey',
  'Valetkey <no-reply>',
  'a@example.com, b@example.com',
  'A <a@example.com>, B <b@example.com>',
  'Smith, Sons <a@example.com>',
  'A <a@example.com> x',
  'A\r\nBcc: b <a@example.com>',
  '"A <a@example.com>'
])('%j is no mailbox', (text) => {
  expect(readMailbox(text)).toBeUndefined()
})
