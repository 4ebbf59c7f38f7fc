import { expect, test } from '@jest/globals'
import { messagesOf } from '../../../support/used-messages.js'

test('every text about choices at APIs is used, and no text is missing that is used', () => {
  const { present, used } = messagesOf('selections')
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
