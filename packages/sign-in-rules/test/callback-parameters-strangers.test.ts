import { expect, test } from '@jest/globals'
import { evaluateCallback } from '../src/callback-parameters.js'
import { failureAfterCallback, failureOfErrorCode, providerFailure } from '../src/provider-failure.js'

const ISSUER = 'https://idp.example'
const ERRORS = [
  'access_denied',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'invalid_grant',
  'invalid_request',
  'unauthorized_client',
  'unsupported_response_type',
  'invalid_scope',
  'invalid_client',
  'made up',
  ''
]
const QUERIES = [
  ...ERRORS.map((error) => `error=${encodeURIComponent(error)}`),
  '',
  'code=',
  'code=a&code=b',
  'code=%00',
  'code=%C3%A9',
  'code=a&iss=https://evil.example',
  'error=a&error=b'
]

test.each(QUERIES)('the callback ?%s is never a 5xx and never an error in the log', (query) => {
  for (const announcesIss of [false, true]) {
    const outcome = evaluateCallback(new URLSearchParams(query), { issuer: ISSUER, announcesIss })
    expect(outcome.kind).toBe('failed')
    if (outcome.kind !== 'failed') continue
    expect(outcome.failure.status).toBeLessThan(500)
    expect(outcome.failure.level).not.toBe('error')
  }
})

test.each(['invalid_request', 'invalid_scope', 'made up', 'invalid_grant'])(
  'the response %s of a token endpoint to a code that a browser invented is no 5xx',
  (error) => {
    expect(failureAfterCallback(failureOfErrorCode(error)).status).toBe(400)
  }
)

test('a code of another sign-in (wrong nonce) is no 5xx, and the user starts again', () => {
  const failure = failureAfterCallback(providerFailure('misconfigured', 'wrong_nonce'))
  expect(failure).toEqual({ page: 'unknown', status: 400, level: 'info', reason: 'wrong_nonce' })
})

test.each(['invalid_client', 'wrong_issuer', 'wrong_aud', 'bad_signature'])(
  'a failure that only the operator can repair stays an error: %s',
  (reason) => {
    expect(failureAfterCallback(providerFailure('misconfigured', reason))).toMatchObject({
      status: 500,
      level: 'error'
    })
  }
)
