import { expect, test } from '@jest/globals'
import { messagesOf } from '../../../support/used-messages.js'

test('every text of invitations is used, and no text is missing that is used', () => {
  const ofLinks = ['invitation', 'password_reset'].flatMap((purpose) => [
    ...['title', 'lead'].map((part) => `account_link.${purpose}.${part}`),
    ...['subject', 'text', 'advice'].map((part) => `mail.${purpose}.${part}`)
  ])
  const ofRefusedLinks = ['unknown', 'too_many', 'too_many_at_once'].flatMap((reason) =>
    ['title', 'message', 'advice'].map((part) => `account_link.${reason}.${part}`)
  )
  const { present, used } = messagesOf('invitations', [...ofLinks, ...ofRefusedLinks])
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
