import { createHash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { codeChallengeOf, isCodeChallenge, isCodeVerifier, matchesCodeChallenge } from '../src/pkce.js'

// RFC 7636 appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

test('PKCE: the code verifier of the example gives the code challenge of the example (RFC 7636 App. B)', () => {
  expect(codeChallengeOf(VERIFIER)).toBe(CHALLENGE)
})

const OTHER_CHARACTERS = ['+', '/', '=', ' ', '\n', '%', '!', '"', 'é', '\u0000']

test.each([
  { name: '43 characters', value: 'a'.repeat(43), valid: true },
  { name: '128 characters', value: 'a'.repeat(128), valid: true },
  { name: 'every kind of character', value: `AZaz09-._~${'x'.repeat(33)}`, valid: true },
  { name: 'the example of the RFC', value: VERIFIER, valid: true },
  { name: 'nothing', value: '', valid: false },
  { name: '42 characters', value: 'a'.repeat(42), valid: false },
  { name: '129 characters', value: 'a'.repeat(129), valid: false },
  { name: 'a line break after 43 characters', value: `${'a'.repeat(43)}\n`, valid: false },
  ...OTHER_CHARACTERS.map((other) => ({
    name: `${JSON.stringify(other)} among 43 characters`,
    value: `${'a'.repeat(20)}${other}${'a'.repeat(22)}`,
    valid: false
  }))
])('PKCE: a verifier of $name is valid: $valid (RFC 7636 §4.1)', ({ value, valid }) => {
  expect(isCodeVerifier(value)).toBe(valid)
})

test.each([
  { name: 'the example of the RFC', value: CHALLENGE, valid: true },
  { name: '43 base64url characters', value: `-_${'A'.repeat(41)}`, valid: true },
  { name: 'nothing', value: '', valid: false },
  { name: '42 characters', value: 'A'.repeat(42), valid: false },
  { name: '44 characters', value: 'A'.repeat(44), valid: false },
  { name: '43 characters and padding', value: `${CHALLENGE}=`, valid: false },
  { name: 'a dot, which only a verifier may hold', value: `.${'A'.repeat(42)}`, valid: false },
  { name: 'a tilde, which only a verifier may hold', value: `~${'A'.repeat(42)}`, valid: false },
  { name: 'SHA-256 in hexadecimal', value: createHash('sha256').update(VERIFIER).digest('hex'), valid: false },
  ...OTHER_CHARACTERS.map((other) => ({
    name: `${JSON.stringify(other)} among 43 characters`,
    value: `${'A'.repeat(20)}${other}${'A'.repeat(22)}`,
    valid: false
  }))
])('PKCE: a challenge of $name is valid: $valid (RFC 7636 §4.2)', ({ value, valid }) => {
  expect(isCodeChallenge(value)).toBe(valid)
})

test('PKCE: every code verifier gives a valid code challenge, and different ones different challenges (RFC 7636 §4.2)', () => {
  const verifier = fc.stringMatching(/^[A-Za-z0-9._~-]{43,128}$/)
  fc.assert(
    fc.property(verifier, verifier, (one, other) => {
      expect(isCodeVerifier(one)).toBe(true)
      expect(isCodeChallenge(codeChallengeOf(one))).toBe(true)
      expect(codeChallengeOf(one) === codeChallengeOf(other)).toBe(one === other)
    })
  )
})

test.each([
  { name: 'the challenge of the verifier', challenge: CHALLENGE, ofVerifier: codeChallengeOf(VERIFIER), matches: true },
  { name: 'another verifier', challenge: CHALLENGE, ofVerifier: codeChallengeOf(`${VERIFIER}a`), matches: false },
  { name: 'no verifier', challenge: CHALLENGE, ofVerifier: undefined, matches: false },
  { name: 'a verifier without a challenge', challenge: undefined, ofVerifier: CHALLENGE, matches: false },
  { name: 'neither', challenge: undefined, ofVerifier: undefined, matches: true }
])('PKCE: $name matches: $matches (RFC 7636 §4.6)', ({ challenge, ofVerifier, matches }) => {
  expect(matchesCodeChallenge(challenge, ofVerifier)).toBe(matches)
})
