import { expect, test } from '@jest/globals'
import { messagesOf } from '../../../support/used-messages.js'

test('every text about what apps did is used, and no text is missing that is used', () => {
  const { present, used } = messagesOf('activity')
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
