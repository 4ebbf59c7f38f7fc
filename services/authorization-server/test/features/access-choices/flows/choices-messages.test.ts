import { expect, test } from '@jest/globals'
import { messagesOf } from '../../../support/used-messages.js'

test('every text of choices of an end is used, and no text is missing that is used', () => {
  const { present, used } = messagesOf('access-choices')
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
