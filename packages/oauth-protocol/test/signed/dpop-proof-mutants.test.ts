import { createHash, createPublicKey } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { base64url, calculateJwkThumbprint, compactVerify, decodeProtectedHeader, importJWK, type JWK } from 'jose'
import { randomFrom } from '../../../dev-stack/lib/tests/seeded-random.mjs'
import { checkDpopProof, type ExpectedProof } from '../../src/signed/dpop-proof.js'
import { rememberKeys } from '../../src/signed/known-keys.js'
import { createKey, sign, type TestKey } from './proof-fixture.js'

const MUTANTS = 10_000
const NOW = new Date('2026-11-27T12:00:00Z')
const SECONDS = NOW.getTime() / 1_000
const TOKEN = 'vk_at_example'
const ATH = createHash('sha256').update(TOKEN).digest('base64url')
const TARGET = 'https://api.example/v1/files'

const KEYS = await Promise.all(['ES256', 'PS256', 'EdDSA', 'Ed25519', 'ES256'].map(createKey))
const RS256 = await createKey('RS256')

/** A second implementation on jose's own API, which shares no code with the first. */
async function judge(headers: readonly string[], thumbprint: string): Promise<boolean> {
  const [proof = ''] = headers
  if (headers.length !== 1 || proof.length > 4_096) return false
  try {
    const parts = proof.split('.')
    if (parts.some((part) => base64url.encode(base64url.decode(part)) !== part)) return false
    const { typ, crit, jwk, alg } = decodeProtectedHeader(proof)
    if (typ !== 'dpop+jwt' || crit !== undefined || jwk === undefined || !isAllowedKey(jwk, String(alg))) return false
    const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519']
    // jose sees two algorithms in EdDSA and Ed25519, RFC 9864 §2.2 one: `isAllowedKey` has judged `alg` of the key.
    const { alg: _ofKey, ...key } = jwk
    const { payload } = await compactVerify(proof, await importJWK(key, alg), { algorithms })
    const claims = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload))
    return areClaims(claims) && (await calculateJwkThumbprint(jwk)) === thumbprint
  } catch {
    return false
  }
}

function isAllowedKey(jwk: JWK, alg: string): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey({
    key: jwk as never,
    format: 'jwk'
  })
  const fits = { ES256: 'ec', PS256: 'rsa', EdDSA: 'ed25519', Ed25519: 'ed25519' }[alg] === type
  const isCurve = type !== 'ec' || details?.namedCurve === 'prime256v1'
  const bits = details?.modulusLength ?? 0
  const isRsa = type !== 'rsa' || (bits >= 2_048 && bits <= 4_096 && details?.publicExponent === 65_537n)
  const texts = { ec: [jwk.x, jwk.y], ed25519: [jwk.x], rsa: [jwk.n, jwk.e] }[String(type)] ?? []
  const isCanonical = texts.every((text = '') => base64url.encode(base64url.decode(text)) === text)
  const isForSignatures = jwk.use === undefined || jwk.use === 'sig'
  const verifies = jwk.key_ops === undefined || (Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify'))
  const { alg: own, kid } = jwk
  const isForAlg = own === undefined || own === alg || (type === 'ed25519' && (own === 'EdDSA' || own === 'Ed25519'))
  const isKid = kid === undefined || (typeof kid === 'string' && kid.length >= 1 && kid.length <= 256)
  const isPublic = !['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].some((member) => member in jwk)
  return [fits, isCurve, isRsa, isCanonical, isForSignatures, verifies, isForAlg, isKid, isPublic].every(Boolean)
}

function areClaims(claims: Record<string, unknown> | null): boolean {
  if (claims === null || Array.isArray(claims)) return false
  const { jti, htm, htu, iat, ath, nonce } = claims
  if (typeof jti !== 'string' || jti.length < 1 || jti.length > 256) return false
  if (htm !== 'GET' || typeof htu !== 'string' || ath !== ATH) return false
  if (typeof iat !== 'number' || iat < SECONDS - 300 || iat > SECONDS + 300) return false
  if (nonce !== undefined && typeof nonce !== 'string') return false
  // The spellings below are the only ones of this target.
  return SAME_TARGETS.includes(htu)
}

const SAME_TARGETS = [
  TARGET,
  'HTTPS://API.example:443/v1/files?a=b#c',
  'https://api.example/v1/%66iles',
  'https://api.example/a/../v1/./files'
]
const OTHER_TARGETS = [
  'https://api.example/v1/files/',
  'https://api.example/V1/files',
  'http://api.example/v1/files',
  'https://api.example:8443/v1/files',
  'https://user@api.example/v1/files',
  'https://api.example/v1%2Ffiles',
  'https://api.example\\v1/files',
  ' https://api.example/v1/files',
  'https:api.example/v1/files',
  ''
]

const { random, below, pick } = randomFrom(9_449)

const VALUES: readonly unknown[] = [
  undefined,
  null,
  '',
  'a',
  0,
  1,
  -1,
  true,
  [],
  ['verify'],
  {},
  'x'.repeat(256),
  'x'.repeat(257)
]
const CLAIM_CHANGES: readonly (() => object)[] = [
  () => ({ [pick(['jti', 'htm', 'htu', 'iat', 'ath', 'nonce', 'exp', 'extra'])]: pick(VALUES) }),
  () => ({ htu: pick([...SAME_TARGETS, ...OTHER_TARGETS]) }),
  () => ({ htu: pick(SAME_TARGETS) }),
  () => ({ iat: SECONDS + pick([-301, -300, -299.5, 0.5, 299, 300, 300.5, 301]) }),
  () => ({ htm: pick(['get', 'GET ', 'POST', 'GET']) }),
  () => ({ ath: pick([`${ATH}=`, ATH.toLowerCase(), ATH]) }),
  () => ({ jti: pick(['\u0000', 'j'.repeat(256), 'é', 'one']) })
]
const HEADER_CHANGES: readonly ((key: TestKey) => object)[] = [
  () => ({ [pick(['typ', 'jwk', 'kid', 'x5c', 'jku'])]: pick(VALUES) }),
  () => ({ typ: pick(['JWT', 'DPoP+JWT', 'application/dpop+jwt', 'dpop+jwt']) }),
  ({ jwk }) => ({
    jwk: { ...jwk, [pick(['use', 'key_ops', 'alg', 'kid', 'x', 'y', 'n', 'e', 'crv', 'kty', 'd', 'k'])]: pick(VALUES) }
  }),
  ({ jwk, algorithm }) => ({
    jwk: { ...jwk, use: pick(['sig', 'enc']), alg: pick([algorithm, 'ES256', 'RS256', 'EdDSA']) }
  }),
  () => ({ jwk: pick([...KEYS, RS256]).jwk })
]

/** Each rule is the one that refuses some mutant. */
const REASONS = [
  'alg',
  'ath',
  'crit',
  'htm',
  'htu',
  'iat',
  'jti',
  'jwk',
  'nonce',
  'not_a_jws',
  'not_one_proof',
  'other_key'
].concat(['signature', 'typ'])

/** Changes before the signature: of claims, of the header, of both, or none. */
async function signedMutant(): Promise<{ proof: string; key: TestKey }> {
  const key = random() < 0.05 ? RS256 : pick(KEYS)
  const claims = {
    jti: 'one',
    htm: 'GET',
    htu: TARGET,
    iat: SECONDS,
    ath: ATH,
    ...(random() < 0.6 && pick(CLAIM_CHANGES)())
  }
  const header = random() < 0.4 ? pick(HEADER_CHANGES)(key) : {}
  return { proof: await sign(key, claims, header as Record<string, unknown>), key }
}

/** Changes after the signature. */
const TEXT_CHANGES: readonly ((proof: string) => readonly string[])[] = [
  (proof) => [replaceAt(proof, below(proof.length), pick([...'AZaz09-_.=+/ ,']))],
  (proof) => [proof.slice(0, -1) + pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef'])],
  (proof) => [`${proof}${pick(['=', '.', ' ', 'A', ', x'])}`],
  (proof) => [proof.split('.').reverse().join('.')],
  (proof) => [proof.split('.').slice(0, 2).join('.')],
  (proof) => [proof, proof],
  () => [],
  () => [''],
  (proof) => [proof.padEnd(4_097, 'A')],
  (proof) => [proof.replace(/^[^.]*/, (part) => reencode(part, (text) => ` ${text}`))],
  (proof) => [
    proof.replace(/^[^.]*/, (part) => reencode(part, (text) => text.replace('"alg":"', '"alg":"RS256","x":"')))
  ],
  (proof) => [
    proof.replace(/^[^.]*/, (part) => reencode(part, (text) => text.replace('{', '{"crit":["b64"],"b64":true,')))
  ]
]

function replaceAt(text: string, at: number, character: string): string {
  return text.slice(0, at) + character + text.slice(at + 1)
}
const reencode = (part: string, change: (text: string) => string): string =>
  Buffer.from(change(Buffer.from(part, 'base64url').toString())).toString('base64url')

test(`${MUTANTS} mutants of proofs are judged alike by two implementations`, async () => {
  const keys = rememberKeys()
  const thumbprints = new Map<TestKey, string>()
  for (const key of [...KEYS, RS256]) thumbprints.set(key, await calculateJwkThumbprint(key.jwk))
  const counts = { valid: 0, refused: 0, nonce_required: 0 }
  const reasons = new Set<string>()
  const differences: object[] = []
  for (let number = 0; number < MUTANTS; number++) {
    const { proof, key } = await signedMutant()
    const headers = random() < 0.4 ? pick(TEXT_CHANGES)(proof) : [proof]
    const thumbprint = thumbprints.get(random() < 0.05 ? pick(KEYS) : key) ?? ''
    const token = { accessToken: TOKEN, thumbprint }
    const expected: ExpectedProof = { method: 'GET', targetUri: TARGET, now: NOW, toleranceSeconds: 300, token }
    const ours = await checkDpopProof(headers, expected, keys)
    counts[ours.kind] += 1
    if (ours.kind === 'refused') reasons.add(ours.reason)
    if ((ours.kind === 'valid') !== (await judge(headers, thumbprint)))
      differences.push({
        ours,
        members: headers.map((one) => one.split('.', 2).map((part) => Buffer.from(part, 'base64url').toString()))
      })
  }
  expect(differences).toEqual([])
  expect(counts.valid).toBeGreaterThan(MUTANTS / 10)
  expect(counts.refused).toBeGreaterThan(MUTANTS / 10)
  expect([...reasons].sort()).toEqual(REASONS)
})
