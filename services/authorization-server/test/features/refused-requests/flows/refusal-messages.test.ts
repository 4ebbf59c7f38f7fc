import { expect, test } from '@jest/globals'
import { SHOWN_REASONS, textsOfReason } from '../../../../src/features/refused-requests/shown-reason.js'
import { messagesOf } from '../../../support/used-messages.js'

test('every text of refused requests is used, and no text is missing that is used', () => {
  const composed = SHOWN_REASONS.flatMap((reason) => Object.values(textsOfReason(reason)))
  const { present, used } = messagesOf('refused-requests', composed)
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
