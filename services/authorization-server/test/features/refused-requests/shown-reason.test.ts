import { expect, test } from '@jest/globals'
import { SHOWN_REASONS, shownReason } from '../../../src/features/refused-requests/shown-reason.js'

test.each([
  ['a code that was never issued, and that of another client', ['unknown_code', 'malformed_code', 'wrong_client']],
  ['a code that expired, and one whose user ended the access', ['expired_code', 'access_ended']],
  [
    'a refresh token that was never issued, and that of another client',
    ['refresh_token_unknown', 'refresh_token_malformed', 'refresh_token_wrong_client']
  ],
  [
    'a refresh token that expired, and one whose user ended the access',
    ['refresh_token_expired', 'refresh_token_grant_ended', 'refresh_token_sign_in_too_old']
  ]
])('the same reason is shown for %s', (_name, reasons) => {
  expect(new Set(reasons.map(shownReason)).size).toBe(1)
})

test('a reason that is not in the list is shown as other', () => {
  expect([shownReason('constructor'), shownReason('new_reason')]).toEqual(['other', 'other'])
  expect(SHOWN_REASONS).toContain('other')
})
