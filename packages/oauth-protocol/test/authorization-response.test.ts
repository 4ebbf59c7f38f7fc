import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { errorLocation, successLocation } from '../src/authorization-response.js'

const ISSUER = 'https://auth.example'
const target = (redirectUri: string, state?: string) => ({ redirectUri, state, issuer: ISSUER })
const ANSWER = 'code=vk_ac_1&state=xyz&iss=https%3A%2F%2Fauth.example'

test.each([
  { redirectUri: 'https://app.example', location: `https://app.example?${ANSWER}` },
  { redirectUri: 'https://app.example/', location: `https://app.example/?${ANSWER}` },
  { redirectUri: 'https://app.example/cb', location: `https://app.example/cb?${ANSWER}` },
  { redirectUri: 'https://app.example/cb?', location: `https://app.example/cb?${ANSWER}` },
  { redirectUri: 'https://app.example/cb?a=1', location: `https://app.example/cb?a=1&${ANSWER}` },
  { redirectUri: 'https://app.example/cb?a=1&', location: `https://app.example/cb?a=1&${ANSWER}` },
  { redirectUri: 'https://app.example/cb?a', location: `https://app.example/cb?a&${ANSWER}` },
  { redirectUri: 'https://app.example/cb?a=?', location: `https://app.example/cb?a=?&${ANSWER}` },
  { redirectUri: 'https://app.example/cb?a=%7e+~%20', location: `https://app.example/cb?a=%7e+~%20&${ANSWER}` },
  { redirectUri: 'http://127.0.0.1:5123/cb', location: `http://127.0.0.1:5123/cb?${ANSWER}` },
  { redirectUri: 'http://[::1]:5123', location: `http://[::1]:5123?${ANSWER}` },
  { redirectUri: 'com.example.app:/cb', location: `com.example.app:/cb?${ANSWER}` },
  { redirectUri: 'com.example.app:', location: `com.example.app:?${ANSWER}` }
])(
  'authorization response: for $redirectUri it is $location (RFC 6749 §3.1.2, §4.1.2)',
  ({ redirectUri, location }) => {
    expect(successLocation(target(redirectUri, 'xyz'), 'vk_ac_1')).toBe(location)
  }
)

test.each([
  { state: undefined, location: 'https://app.example/cb?code=c&iss=https%3A%2F%2Fauth.example' },
  { state: 'a b', location: 'https://app.example/cb?code=c&state=a+b&iss=https%3A%2F%2Fauth.example' },
  { state: 'a+b', location: 'https://app.example/cb?code=c&state=a%2Bb&iss=https%3A%2F%2Fauth.example' },
  { state: '&iss=x#', location: 'https://app.example/cb?code=c&state=%26iss%3Dx%23&iss=https%3A%2F%2Fauth.example' },
  { state: '%41', location: 'https://app.example/cb?code=c&state=%2541&iss=https%3A%2F%2Fauth.example' },
  { state: 'é🔑', location: 'https://app.example/cb?code=c&state=%C3%A9%F0%9F%94%91&iss=https%3A%2F%2Fauth.example' }
])('authorization response: the state $state is returned form-encoded, with iss (RFC 6749 App. B)', (given) => {
  expect(successLocation(target('https://app.example/cb', given.state), 'c')).toBe(given.location)
})

const FAILURE = { error: 'access_denied', description: 'The person said no.' } as const

test.each([
  {
    name: 'everything',
    state: 'xyz',
    errorUri: 'https://auth.example/errors/access_denied',
    query:
      'error=access_denied&error_description=The+person+said+no.&error_uri=https%3A%2F%2Fauth.example%2Ferrors%2Faccess_denied&state=xyz&iss=https%3A%2F%2Fauth.example'
  },
  {
    name: 'neither state nor error_uri',
    state: undefined,
    errorUri: undefined,
    query: 'error=access_denied&error_description=The+person+said+no.&iss=https%3A%2F%2Fauth.example'
  }
])('authorization response: an error with $name, iss included (RFC 6749 §4.1.2.1, RFC 9207 §2)', (given) => {
  const failure = { ...FAILURE, errorUri: given.errorUri }
  const ofTarget = (uri: string) => errorLocation(target(uri, given.state), failure)
  expect(ofTarget('https://app.example/cb')).toBe(`https://app.example/cb?${given.query}`)
  expect(ofTarget('https://app.example/cb?a=1')).toBe(`https://app.example/cb?a=1&${given.query}`)
})

const anyState = fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined })
const anyRedirectUri = fc.constantFrom(
  'https://app.example/cb',
  'https://app.example/cb?a=1&b=%20',
  'https://app.example?x',
  'http://127.0.0.1:1/cb?a=1&',
  'com.example.app:/cb'
)

test('authorization response: contains code, state and iss unchanged, and nothing else (RFC 9207 §2)', () => {
  fc.assert(
    fc.property(anyRedirectUri, anyState, fc.string({ unit: 'grapheme' }), (redirectUri, state, code) => {
      const location = successLocation(target(redirectUri, state), code)
      expect(location.startsWith(redirectUri)).toBe(true)
      expect(location).toMatch(/^[\x21-\x7e]+$/)
      expect(location).not.toContain('#')
      const expected = new URL(redirectUri).searchParams
      expected.append('code', code)
      if (state !== undefined) expected.append('state', state)
      expected.append('iss', ISSUER)
      expect([...new URL(location).searchParams]).toEqual([...expected])
    })
  )
})

test('authorization response: an error contains no code, and a code no error', () => {
  fc.assert(
    fc.property(anyRedirectUri, anyState, (redirectUri, state) => {
      const failed = new URL(errorLocation(target(redirectUri, state), FAILURE)).searchParams
      const succeeded = new URL(successLocation(target(redirectUri, state), 'c')).searchParams
      expect(failed.has('code')).toBe(false)
      expect(succeeded.has('error')).toBe(false)
      expect([failed.getAll('iss'), succeeded.getAll('iss')]).toEqual([[ISSUER], [ISSUER]])
      expect([failed.get('state'), succeeded.get('state')]).toEqual([state ?? null, state ?? null])
    })
  )
})
