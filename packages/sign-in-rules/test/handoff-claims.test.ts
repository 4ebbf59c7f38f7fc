import { expect, test } from '@jest/globals'
import { evaluateHandoffClaims } from '../src/handoff-claims.js'

const NOW = 1_800_000_000
const EXPECTED = { issuer: 'https://login.example', audience: 'https://auth.example' }
const VALID = {
  iss: EXPECTED.issuer,
  aud: EXPECTED.audience,
  sub: 'user-7',
  jti: 'c7f0',
  nonce: 'request-id',
  iat: NOW,
  exp: NOW + 60,
  auth_time: NOW - 5,
  name: 'Alice Example',
  amr: ['pwd']
}

const evaluate = (change: Record<string, unknown>, now = NOW) =>
  evaluateHandoffClaims({ ...VALID, ...change }, EXPECTED, new Date(now * 1000))

test('an assertion with all claims is accepted', () => {
  expect(evaluate({})).toEqual({
    kind: 'accepted',
    claims: {
      subject: 'user-7',
      nonce: 'request-id',
      authenticatedAt: new Date((NOW - 5) * 1000),
      displayName: 'Alice Example'
    }
  })
})

test.each([
  { name: 'without name and amr', change: { name: undefined, amr: undefined } },
  { name: 'with the audience in an array', change: { aud: [EXPECTED.audience] } },
  { name: 'issued 30 s in the future', change: { iat: NOW + 30, exp: NOW + 90 } },
  { name: 'expired 29 s ago', change: { iat: NOW - 60, exp: NOW - 29 } },
  { name: 'with an old auth_time', change: { auth_time: NOW - 86_400 } }
])('an assertion $name is accepted', ({ change }) => {
  expect(evaluate(change)).toMatchObject({ kind: 'accepted' })
})

test('an expired assertion is reported with its claims, so that the sign-in can start over', () => {
  expect(evaluate({ iat: NOW - 60, exp: NOW - 30 })).toMatchObject({ kind: 'expired', claims: { nonce: 'request-id' } })
})

test('limits an auth_time in the future to the present', () => {
  const outcome = evaluate({ auth_time: NOW + 30 })
  expect(outcome).toMatchObject({ claims: { authenticatedAt: new Date(NOW * 1000) } })
})

test.each([
  { claim: 'iss', value: 'https://login.example/' },
  { claim: 'iss', value: undefined },
  { claim: 'aud', value: 'https://other.example' },
  { claim: 'aud', value: [EXPECTED.audience, 'https://other.example'] },
  { claim: 'aud', value: [] },
  { claim: 'aud', value: undefined },
  { claim: 'sub', value: undefined },
  { claim: 'sub', value: '' },
  { claim: 'sub', value: 7 },
  { claim: 'sub', value: 'a\u0000' },
  { claim: 'jti', value: undefined },
  { claim: 'jti', value: '' },
  { claim: 'nonce', value: undefined },
  { claim: 'nonce', value: ['request-id'] },
  { claim: 'iat', value: undefined },
  { claim: 'iat', value: NOW + 31 },
  { claim: 'iat', value: `${NOW}` },
  { claim: 'exp', value: undefined },
  { claim: 'exp', value: NOW + 61 },
  { claim: 'exp', value: NOW },
  { claim: 'exp', value: Number.NaN },
  { claim: 'auth_time', value: undefined },
  { claim: 'auth_time', value: NOW + 31 },
  { claim: 'auth_time', value: -1 },
  { claim: 'name', value: ['Alice'] },
  { claim: 'amr', value: 'pwd' },
  { claim: 'amr', value: [1] }
])('an assertion whose $claim is $value is refused', ({ claim, value }) => {
  expect(evaluate({ [claim]: value })).toEqual({ kind: 'refused', reason: `wrong_${claim}` })
})
