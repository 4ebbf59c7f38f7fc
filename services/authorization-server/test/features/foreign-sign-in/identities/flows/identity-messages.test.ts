import { expect, test } from '@jest/globals'
import { SIGN_IN_PROBLEMS } from '../../../../../src/features/foreign-sign-in/identities/sign-in-problem.js'
import { messagesOf } from '../../../../support/used-messages.js'

test('every text of identities is used, and no text is missing that is used', () => {
  const composed = SIGN_IN_PROBLEMS.flatMap((reason) =>
    ['title', 'message', 'advice'].map((part) => `sign_in_problem.${reason}.${part}`)
  )
  const { present, used } = messagesOf('foreign-sign-in', composed)
  expect(present).toEqual(used)
  expect(present).not.toEqual([])
})
