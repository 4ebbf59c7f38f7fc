import { createHash } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { calculateJwkThumbprint } from 'jose'
import { DPOP_ALGORITHMS } from '../../src/dpop-algorithms.js'
import { checkDpopProof, type ExpectedProof, isThumbprint } from '../../src/signed/dpop-proof.js'
import { rememberKeys } from '../../src/signed/known-keys.js'
import type { ProofNonces } from '../../src/signed/proof-nonces.js'
import { createKey, sign, withPart } from './proof-fixture.js'

const NOW = new Date('2026-11-27T12:00:00Z')
const SECONDS = NOW.getTime() / 1_000
const TARGET = 'https://api.example/v1/files'
const TOKEN = 'vk_at_example'
const ATH = createHash('sha256').update(TOKEN).digest('base64url')
const CLAIMS = { jti: 'one', htm: 'GET', htu: TARGET, iat: SECONDS }

const KEY = await createKey()
const OTHER_KEY = await createKey()
const THUMBPRINT = await calculateJwkThumbprint(KEY.jwk)

const AT_TOKEN: ExpectedProof = { method: 'GET', targetUri: TARGET, now: NOW, toleranceSeconds: 300 }
const AT_API: ExpectedProof = { ...AT_TOKEN, token: { accessToken: TOKEN, thumbprint: THUMBPRINT } }

const check = (headers: readonly string[], expected = AT_TOKEN) => checkDpopProof(headers, expected, rememberKeys())

test('A proof with all members is valid, and its key is named by its thumbprint', async () => {
  const proof = await sign(KEY, { ...CLAIMS, nonce: 'n' })
  expect(await check([proof])).toEqual({ kind: 'valid', thumbprint: THUMBPRINT, jti: 'one', nextNonce: undefined })
})

test.each(DPOP_ALGORITHMS)('A proof with %s is valid', async (algorithm) => {
  expect(await check([await sign(await createKey(algorithm), CLAIMS)])).toMatchObject({ kind: 'valid' })
})

test('A proof for an access token is valid with its hash and its key', async () => {
  expect(await check([await sign(KEY, { ...CLAIMS, ath: ATH })], AT_API)).toMatchObject({ kind: 'valid' })
})

test.each([
  { htu: `${TARGET}?page=2`, why: 'a query' },
  { htu: 'HTTPS://API.example:443/v1/%66iles', why: 'another spelling' }
])('A target URI with $why is the same target', async ({ htu }) => {
  expect(await check([await sign(KEY, { ...CLAIMS, htu })])).toMatchObject({ kind: 'valid' })
})

test.each([-300, 300, 0.5])('A proof made %d s from now is valid', async (seconds) => {
  expect(await check([await sign(KEY, { ...CLAIMS, iat: SECONDS + seconds })])).toMatchObject({ kind: 'valid' })
})

const REFUSED: readonly { name: string; reason: string; claims?: object; header?: object; expected?: ExpectedProof }[] =
  [
    { name: 'no typ', reason: 'typ', header: { typ: undefined } },
    { name: 'the typ of another token', reason: 'typ', header: { typ: 'JWT' } },
    { name: 'the long form of the typ', reason: 'typ', header: { typ: 'application/dpop+jwt' } },
    { name: 'the typ in upper case', reason: 'typ', header: { typ: 'DPOP+JWT' } },
    { name: 'no jwk', reason: 'jwk', header: { jwk: undefined } },
    { name: 'a private jwk', reason: 'jwk', header: { jwk: { ...KEY.jwk, d: 'AA' } } },
    { name: 'a key for another algorithm', reason: 'jwk', header: { jwk: (await createKey('EdDSA')).jwk } },
    { name: 'the key of another signature', reason: 'signature', header: { jwk: OTHER_KEY.jwk } },
    { name: 'no jti', reason: 'jti', claims: { jti: undefined } },
    { name: 'an empty jti', reason: 'jti', claims: { jti: '' } },
    { name: 'a jti of 257 characters', reason: 'jti', claims: { jti: 'j'.repeat(257) } },
    { name: 'a jti that is a number', reason: 'jti', claims: { jti: 1 } },
    { name: 'another method', reason: 'htm', claims: { htm: 'POST' } },
    { name: 'the method in lower case', reason: 'htm', claims: { htm: 'get' } },
    { name: 'no htu', reason: 'htu', claims: { htu: undefined } },
    { name: 'another path', reason: 'htu', claims: { htu: `${TARGET}/x` } },
    { name: 'another host', reason: 'htu', claims: { htu: 'https://other.example/v1/files' } },
    { name: 'user information', reason: 'htu', claims: { htu: 'https://a@api.example/v1/files' } },
    { name: 'no iat', reason: 'iat', claims: { iat: undefined } },
    { name: 'an iat that is a text', reason: 'iat', claims: { iat: String(SECONDS) } },
    { name: 'an iat that is too old', reason: 'iat', claims: { iat: SECONDS - 301 } },
    { name: 'an iat that is too late', reason: 'iat', claims: { iat: SECONDS + 301 } },
    { name: 'a nonce that is a number', reason: 'nonce', claims: { nonce: 1 } },
    { name: 'no ath', reason: 'ath', expected: AT_API },
    { name: 'the ath of another token', reason: 'ath', claims: { ath: `A${ATH.slice(1)}` }, expected: AT_API }
  ]

test.each(REFUSED)('A proof with $name is refused: $reason', async ({ reason, claims, header, expected }) => {
  const proof = await sign(KEY, { ...CLAIMS, ...claims }, { ...header })
  expect(await check([proof], expected)).toEqual({ kind: 'refused', reason })
})

test('A proof of another key than that of the token is refused', async () => {
  const proof = await sign(OTHER_KEY, { ...CLAIMS, ath: ATH })
  expect(await check([proof], AT_API)).toEqual({ kind: 'refused', reason: 'other_key' })
})

test.each(['none', 'HS256', 'RS256', 'ES384'])(
  'A proof whose header names the algorithm %s is refused',
  async (alg) => {
    const proof = withPart(await sign(KEY, CLAIMS), 0, (header) => ({ ...header, alg }))
    expect(await check([proof])).toEqual({ kind: 'refused', reason: 'alg' })
  }
)

test('A proof with a critical extension is refused', async () => {
  const proof = withPart(await sign(KEY, CLAIMS), 0, (header) => ({ ...header, crit: ['b64'], b64: true }))
  expect(await check([proof])).toEqual({ kind: 'refused', reason: 'crit' })
})

test('A proof that was changed after its signature is refused', async () => {
  const proof = withPart(await sign(KEY, CLAIMS), 1, (payload) => ({ ...payload, jti: 'two' }))
  expect(await check([proof])).toEqual({ kind: 'refused', reason: 'signature' })
})

test.each([
  { name: 'no header', headers: () => [], reason: 'not_one_proof' },
  { name: 'two headers', headers: (proof: string) => [proof, proof], reason: 'not_one_proof' },
  { name: 'an empty header', headers: () => [''], reason: 'not_a_jws' },
  { name: 'two proofs in one header', headers: (proof: string) => [`${proof}, ${proof}`], reason: 'not_a_jws' }
])('A request with $name has no valid proof', async ({ headers, reason }) => {
  expect(await check(headers(await sign(KEY, CLAIMS)))).toEqual({ kind: 'refused', reason })
})

const NONCES: ProofNonces = {
  newest: () => 'new',
  judge: (nonce) => (nonce === 'new' ? 'newest' : nonce === 'old' ? 'old' : 'refused')
}
const WITH_NONCE: ExpectedProof = { ...AT_TOKEN, nonces: NONCES }

describe('Where a nonce is required', () => {
  test.each([
    { nonce: 'new', nextNonce: undefined },
    { nonce: 'old', nextNonce: 'new' }
  ])(
    'its time counts and iat does not, and the next nonce after $nonce is $nextNonce',
    async ({ nonce, nextNonce }) => {
      const proof = await sign(KEY, { ...CLAIMS, nonce, iat: 1 })
      expect(await check([proof], WITH_NONCE)).toEqual({ kind: 'valid', thumbprint: THUMBPRINT, jti: 'one', nextNonce })
    }
  )

  test.each([
    { nonce: undefined, reason: 'nonce_missing' },
    { nonce: '', reason: 'nonce_refused' },
    { nonce: 'forged', reason: 'nonce_refused' }
  ])('a proof with the nonce $nonce gets the newest one: $reason', async ({ nonce, reason }) => {
    const proof = await sign(KEY, { ...CLAIMS, nonce })
    expect(await check([proof], WITH_NONCE)).toEqual({ kind: 'nonce_required', reason, nextNonce: 'new' })
  })

  test.each<{ name: string; claims: object; reason: string }>([
    { name: 'a nonce that is a number', claims: { nonce: 1 }, reason: 'nonce' },
    { name: 'no nonce and another method', claims: { htm: 'POST' }, reason: 'htm' },
    { name: 'no nonce and no iat', claims: { iat: undefined }, reason: 'iat' }
  ])('a proof with $name gets no nonce: $reason', async ({ claims, reason }) => {
    expect(await check([await sign(KEY, { ...CLAIMS, ...claims })], WITH_NONCE)).toEqual({ kind: 'refused', reason })
  })

  test('a proof of another key than that of the token gets no nonce', async () => {
    const proof = await sign(OTHER_KEY, { ...CLAIMS, ath: ATH })
    expect(await check([proof], { ...AT_API, nonces: NONCES })).toEqual({ kind: 'refused', reason: 'other_key' })
  })

  test('a proof with the nonce and a wrong signature is refused', async () => {
    const proof = await sign(OTHER_KEY, { ...CLAIMS, nonce: 'new' }, { jwk: KEY.jwk })
    expect(await check([proof], WITH_NONCE)).toEqual({ kind: 'refused', reason: 'signature' })
  })
})

test('Only a key that has signed is remembered', async () => {
  const remembered: string[] = []
  const keys = {
    known: <Key>(key: Key) => key,
    remember: ({ thumbprint }: { thumbprint: string }) => remembered.push(thumbprint)
  }
  const forged = await sign(OTHER_KEY, CLAIMS, { jwk: KEY.jwk })
  await checkDpopProof([forged], AT_TOKEN, keys)
  expect(remembered).toEqual([])
  await checkDpopProof([await sign(KEY, CLAIMS)], AT_TOKEN, keys)
  expect(remembered).toEqual([THUMBPRINT])
})

test.each([
  { text: THUMBPRINT, is: true },
  { text: THUMBPRINT.slice(1), is: false },
  { text: `${THUMBPRINT}A`, is: false },
  { text: `${THUMBPRINT.slice(0, 42)}+`, is: false },
  { text: '', is: false }
])('$text is the text of a thumbprint: $is', ({ text, is }) => {
  expect(isThumbprint(text)).toBe(is)
})
