import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  CODE_ALREADY_USED,
  INVALID_GRANT,
  OAUTH_ERROR_STATUS,
  OAuthError,
  type OAuthErrorCode,
  toErrorDescription
} from '../src/oauth-error.js'

const STATUS: readonly { code: OAuthErrorCode; status: number }[] = [
  { code: 'invalid_request', status: 400 },
  { code: 'invalid_client', status: 401 },
  { code: 'invalid_grant', status: 400 },
  { code: 'unknown_handover', status: 404 },
  { code: 'unauthorized_client', status: 400 },
  { code: 'unsupported_grant_type', status: 400 },
  { code: 'unsupported_response_type', status: 400 },
  { code: 'invalid_scope', status: 400 },
  { code: 'invalid_target', status: 400 },
  { code: 'invalid_dpop_proof', status: 400 },
  { code: 'use_dpop_nonce', status: 400 },
  { code: 'request_not_supported', status: 400 },
  { code: 'request_uri_not_supported', status: 400 },
  { code: 'invalid_request_uri', status: 400 },
  { code: 'access_denied', status: 400 },
  { code: 'login_required', status: 400 },
  { code: 'consent_required', status: 400 },
  { code: 'server_error', status: 500 },
  { code: 'temporarily_unavailable', status: 503 }
]

test.each(STATUS)('OAuth error: $code has the status $status (RFC 6749 §5.2)', ({ code, status }) => {
  expect(OAUTH_ERROR_STATUS[code]).toBe(status)
})

test('OAuth error: the table has a status for these codes and no others', () => {
  expect(Object.keys(OAUTH_ERROR_STATUS).toSorted()).toEqual(STATUS.map(({ code }) => code).toSorted())
})

test('OAuth error: 401 is only for invalid_client (RFC 6749 §5.2)', () => {
  expect(STATUS.filter(({ code }) => OAUTH_ERROR_STATUS[code] === 401)).toHaveLength(1)
})

test.each([
  { name: 'plain words', text: 'The scope is unknown.', description: 'The scope is unknown.' },
  { name: 'nothing', text: '', description: '' },
  { name: 'quotation marks', text: 'a "b"', description: "a 'b'" },
  { name: 'a backslash', text: 'a\\b', description: 'a?b' },
  { name: 'a line break', text: 'a\r\nb', description: 'a??b' },
  { name: 'a letter outside ASCII', text: 'é', description: '?' },
  { name: 'NUL and DEL', text: '\u0000\u007f', description: '??' }
])('error description: $name is written as "$description" (RFC 6749 §5.2)', ({ text, description }) => {
  expect(toErrorDescription(text)).toBe(description)
})

const anyText = fc.array(fc.nat({ max: 0xffff })).map((codes) => String.fromCharCode(...codes))
const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/

test('error description: for any text, only %x20-21, %x23-5B and %x5D-7E are kept (RFC 6749 §5.2)', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(toErrorDescription(text)).toMatch(DESCRIPTION)
    })
  )
})

test('error description: allowed characters are not changed (RFC 6749 §5.2)', () => {
  fc.assert(
    fc.property(fc.stringMatching(DESCRIPTION), (text) => {
      expect(toErrorDescription(text)).toBe(text)
    })
  )
})

test('error description: a used code has the documented text', () => {
  expect(CODE_ALREADY_USED).toBe('authorization code was already used')
  expect(toErrorDescription(INVALID_GRANT)).toBe(INVALID_GRANT)
})

test('OAuth error: the message is for the caller, and the details are separate', () => {
  const cause = new Error('connection refused')
  const error = new OAuthError('invalid_grant', INVALID_GRANT, { reason: 'expired', cause })
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'OAuthError', code: 'invalid_grant', description: INVALID_GRANT, cause })
  expect(error.message).toBe(INVALID_GRANT)
  expect(error.details).toEqual({ reason: 'expired', cause })
  expect(new OAuthError('invalid_request', 'No.').details).toEqual({})
})
