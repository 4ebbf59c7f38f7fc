import { describe, expect, test } from '@jest/globals'
import { OAuthError } from '../src/oauth-error.js'
import { parseParameters } from '../src/parameters.js'
import { readTokenRequest, requireSingleParameters } from '../src/token-request.js'

// RFC 7636 appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const CODE = 'grant_type=authorization_code&code=c&redirect_uri=https%3A%2F%2Fapp.example%2Fcb'
const REFRESH = 'grant_type=refresh_token&refresh_token=r'

const CLIENT = { clientId: 'app', issuesRefreshTokens: true }

const read = (form: string, client = CLIENT) => readTokenRequest(parseParameters(form), client)

/** The error that the call throws. */
function errorOf(call: () => unknown): OAuthError {
  try {
    call()
  } catch (error) {
    if (error instanceof OAuthError) return error
    throw error
  }
  throw new Error('the call did not throw')
}

const redemption = {
  grantType: 'authorization_code',
  code: 'c',
  redirectUri: 'https://app.example/cb',
  codeChallenge: undefined,
  resource: undefined
}
const refresh = { grantType: 'refresh_token', refreshToken: 'r', scope: undefined, resource: undefined }

test.each([
  { name: 'a code', form: CODE, request: redemption },
  {
    name: 'a code with a verifier, as its challenge',
    form: `${CODE}&code_verifier=${VERIFIER}`,
    request: { ...redemption, codeChallenge: CHALLENGE }
  },
  { name: 'a code with an empty verifier', form: `${CODE}&code_verifier=`, request: redemption },
  {
    name: 'a code with empty parameters',
    form: `${CODE}&resource=&scope=&refresh_token=&code=&grant_type&&=`,
    request: redemption
  },
  { name: 'a code with a resource', form: `${CODE}&resource=x`, request: { ...redemption, resource: 'x' } },
  { name: 'a code with a scope, which is ignored', form: `${CODE}&scope=a`, request: redemption },
  { name: 'a code with a refresh token, which is ignored', form: `${CODE}&refresh_token=r`, request: redemption },
  {
    name: 'a redirect_uri encoded in it, decoded once',
    form: 'grant_type=authorization_code&code=c&redirect_uri=https%3A%2F%2Fapp.example%2F%2541',
    request: { ...redemption, redirectUri: 'https://app.example/%41' }
  },
  { name: 'a refresh token', form: REFRESH, request: refresh },
  { name: 'a refresh with a scope', form: `${REFRESH}&scope=b+a`, request: { ...refresh, scope: ['b', 'a'] } },
  { name: 'a refresh with an empty scope', form: `${REFRESH}&scope=`, request: refresh },
  { name: 'a refresh with a resource', form: `${REFRESH}&resource=x`, request: { ...refresh, resource: 'x' } },
  { name: 'a refresh with a code, which is ignored', form: `${REFRESH}&code=c`, request: refresh }
])('token request: $name is accepted (RFC 6749 §4.1.3, §6, RFC 7636 §4.5)', ({ form, request }) => {
  expect(read(form)).toEqual(request)
})

test.each([
  { name: 'nothing', form: '', error: 'invalid_request' },
  { name: 'no grant_type', form: 'code=c', error: 'invalid_request' },
  { name: 'an empty grant_type', form: 'grant_type=&code=c', error: 'invalid_request' },
  { name: 'grant_type password', form: 'grant_type=password&username=u', error: 'unsupported_grant_type' },
  { name: 'grant_type client_credentials', form: 'grant_type=client_credentials', error: 'unsupported_grant_type' },
  { name: 'grant_type implicit', form: 'grant_type=implicit', error: 'unsupported_grant_type' },
  {
    name: 'the device grant',
    form: 'grant_type=urn:ietf:params:oauth:grant-type:device_code',
    error: 'unsupported_grant_type'
  },
  {
    name: 'the grant_type in another case',
    form: CODE.replace('authorization', 'Authorization'),
    error: 'unsupported_grant_type'
  },
  {
    name: 'the grant_type with a space',
    form: `${REFRESH.replace('token&', 'token+&')}`,
    error: 'unsupported_grant_type'
  },
  ...[
    'token',
    'code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'AUTHORIZATION_CODE',
    'authorization_code ',
    ' authorization_code',
    'authorization_code refresh_token',
    'authorization_code,refresh_token',
    '__proto__',
    'ü'
  ].map((grantType) => ({
    name: `grant_type "${grantType}"`,
    form: CODE.replace('authorization_code', encodeURIComponent(grantType)),
    error: 'unsupported_grant_type'
  })),
  { name: 'no code', form: CODE.replace('code=c&', ''), error: 'invalid_request' },
  { name: 'an empty code', form: CODE.replace('code=c&', 'code=&'), error: 'invalid_request' },
  { name: 'no redirect_uri', form: 'grant_type=authorization_code&code=c', error: 'invalid_request' },
  {
    name: 'an empty redirect_uri',
    form: 'grant_type=authorization_code&code=c&redirect_uri=',
    error: 'invalid_request'
  },
  { name: 'no refresh_token', form: 'grant_type=refresh_token', error: 'invalid_request' },
  { name: 'an empty refresh_token', form: 'grant_type=refresh_token&refresh_token=', error: 'invalid_request' },
  { name: 'a refresh token under the name code', form: 'grant_type=refresh_token&code=r', error: 'invalid_request' },
  { name: 'a refresh with two spaces in its scope', form: `${REFRESH}&scope=a++b`, error: 'invalid_scope' },
  { name: 'a refresh with a scope of one space', form: `${REFRESH}&scope=+`, error: 'invalid_scope' },
  { name: 'a refresh with a quoted scope', form: `${REFRESH}&scope=%22a%22`, error: 'invalid_scope' },
  { name: 'a verifier of 42 characters', form: `${CODE}&code_verifier=${'a'.repeat(42)}`, error: 'invalid_grant' },
  { name: 'a verifier of 129 characters', form: `${CODE}&code_verifier=${'a'.repeat(129)}`, error: 'invalid_grant' },
  { name: 'a verifier with a space', form: `${CODE}&code_verifier=${VERIFIER}+`, error: 'invalid_grant' }
])('token request: $name is refused with $error (RFC 6749 §5.2, RFC 7636 §4.6)', ({ form, error }) => {
  expect(errorOf(() => read(form))).toMatchObject({
    code: error,
    description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  })
})

describe('token request of a client without refresh tokens', () => {
  const client = { clientId: 'app', issuesRefreshTokens: false }

  test('a refresh is unauthorized_client (RFC 6749 §5.2)', () => {
    const { code, details } = errorOf(() => read(REFRESH, client))
    expect([code, details]).toEqual(['unauthorized_client', { clientId: 'app' }])
  })

  test('a refresh without refresh_token is invalid_request', () => {
    expect(errorOf(() => read('grant_type=refresh_token', client)).code).toBe('invalid_request')
  })

  test('an exchange of a code is accepted', () => {
    expect(read(CODE, client)).toEqual(redemption)
  })
})

test('token request: the reason malformed_verifier is in the details and not in the description', () => {
  const { description, details } = errorOf(() => read(`${CODE}&code_verifier=short`))
  expect(description).not.toMatch(/verifier/)
  expect(details).toEqual({ reason: 'malformed_verifier' })
})

test('token request: an unknown grant_type is refused before missing parameters', () => {
  expect(errorOf(() => read('grant_type=password')).code).toBe('unsupported_grant_type')
})

describe('repeated and malformed parameters', () => {
  const NAMES = ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource']
  const faults = NAMES.flatMap((name) => [
    { name, fault: 'sent twice', form: `${name}=a&${name}=b`, description: `The parameter ${name} must be sent once.` },
    {
      name,
      fault: 'sent twice with one value',
      form: `${name}=a&${name}=a`,
      description: `The parameter ${name} must be sent once.`
    },
    { name, fault: 'not UTF-8', form: `${name}=%ff`, description: `The parameter ${name} is malformed.` },
    { name, fault: 'with a NUL', form: `${name}=a%00`, description: `The parameter ${name} is malformed.` }
  ])

  test.each(faults)('token request: $name $fault is invalid_request (RFC 6749 §3.2, §5.2)', ({ form, description }) => {
    expect(errorOf(() => requireSingleParameters(parseParameters(form)))).toMatchObject({
      code: 'invalid_request',
      description
    })
  })

  test.each([
    { name: 'every parameter once', form: NAMES.map((name) => `${name}=a`).join('&') },
    { name: 'nothing', form: '' },
    { name: 'an empty second value', form: 'code=a&code=' },
    { name: 'an unknown parameter twice', form: 'x=a&x=b' },
    { name: 'an unknown malformed parameter', form: 'x=%ff' },
    { name: 'an unknown parameter with a NUL', form: 'x=%00' },
    { name: 'a name that is not UTF-8', form: '%ff=x' },
    { name: 'a name in brackets twice', form: 'code[]=x&code[]=y' },
    { name: 'names of JavaScript', form: '__proto__=x&__proto__[get]=x&constructor=x&get=x' }
  ])('token request: $name passes the check of repeated and malformed parameters (RFC 6749 §3.2)', ({ form }) => {
    expect(() => requireSingleParameters(parseParameters(form))).not.toThrow()
  })
})
