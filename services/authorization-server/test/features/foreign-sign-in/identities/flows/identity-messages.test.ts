import { expect, test } from '@jest/globals'
import { messagesOf } from '../../../../support/used-messages.js'

test('every text of identities is used, and no text is missing that is used', () => {
  const { present, used } = messagesOf('foreign-sign-in')
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
