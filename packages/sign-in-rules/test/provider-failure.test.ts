import { describe, expect, test } from '@jest/globals'
import { failureOfErrorCode } from '../src/provider-failure.js'

describe('error code of a provider', () => {
  test.each([
    { codes: ['access_denied'], page: 'stopped', status: 403, level: 'info' },
    {
      codes: ['login_required', 'interaction_required', 'consent_required', 'account_selection_required'],
      page: 'stopped',
      status: 403,
      level: 'info'
    },
    { codes: ['temporarily_unavailable', 'server_error'], page: 'unavailable', status: 503, level: 'warn' },
    {
      codes: ['invalid_request', 'unauthorized_client', 'invalid_scope', 'invalid_client', 'unsupported_response_type'],
      page: 'misconfigured',
      status: 500,
      level: 'error'
    },
    { codes: ['invalid_grant'], page: 'unknown', status: 400, level: 'info' }
  ])('$codes: page $page, status $status, level $level', ({ codes, ...expected }) => {
    for (const reason of codes) expect(failureOfErrorCode(reason)).toEqual({ ...expected, reason })
  })

  test('that is not registered is not repeated in the log', () => {
    const expected = { page: 'misconfigured', reason: 'unknown_error' }
    expect(failureOfErrorCode('text of an attacker')).toMatchObject(expected)
    expect(failureOfErrorCode('constructor')).toMatchObject(expected)
  })
})
