import { dpop, type Header, KEY, OTHER_KEY, proof, scheme, URL_OF_REPORTS } from './dpop-cases.js'

/** Each breaks one rule of the check of proofs; the request is right otherwise. */
export const MUTATIONS: readonly { name: string; reason: string; headers: () => readonly Header[] }[] = [
  { name: 'two proofs', reason: 'proof_not_one_proof', headers: () => [scheme, proof(), proof()] },
  { name: 'an empty proof', reason: 'proof_not_a_jws', headers: () => [scheme, ['DPoP', '']] },
  {
    name: 'a proof of 4,097 characters',
    reason: 'proof_not_a_jws',
    headers: () => dpop({ claims: { x: 'x'.repeat(4_000) } })
  },
  { name: 'another typ', reason: 'proof_typ', headers: () => dpop({ header: { typ: 'JWT' } }) },
  { name: 'the alg none', reason: 'proof_alg', headers: () => dpop({ header: { alg: 'none' } }) },
  { name: 'the alg HS256', reason: 'proof_alg', headers: () => dpop({ header: { alg: 'HS256' } }) },
  { name: 'crit', reason: 'proof_crit', headers: () => dpop({ header: { crit: ['exp'], exp: 1 } }) },
  { name: 'a private key', reason: 'proof_jwk', headers: () => dpop({ header: { jwk: { ...KEY.jwk, d: 'AA' } } }) },
  { name: 'a key for another algorithm', reason: 'proof_jwk', headers: () => dpop({ header: { alg: 'PS256' } }) },
  { name: 'no jti', reason: 'proof_jti', headers: () => dpop({ claims: { jti: undefined } }) },
  { name: 'another method', reason: 'proof_htm', headers: () => dpop({ claims: { htm: 'get' } }) },
  { name: 'another path', reason: 'proof_htu', headers: () => dpop({ url: `${URL_OF_REPORTS}/` }) },
  { name: 'another host', reason: 'proof_htu', headers: () => dpop({ url: 'https://evil.example/reports' }) },
  {
    name: 'the URL of the server behind the proxy',
    reason: 'proof_htu',
    headers: () => dpop({ url: 'http://127.0.0.1/reports' })
  },
  {
    name: 'the host of X-Forwarded-Host',
    reason: 'proof_htu',
    headers: () => [['X-Forwarded-Host', 'evil.example'], ...dpop({ url: 'https://evil.example/reports' })]
  },
  {
    name: 'a time that is too early',
    reason: 'proof_iat',
    headers: () => dpop({ claims: { iat: Date.now() / 1_000 - 310 } })
  },
  {
    name: 'a time that is too late',
    reason: 'proof_iat',
    headers: () => dpop({ claims: { iat: Date.now() / 1_000 + 310 } })
  },
  { name: 'no ath', reason: 'proof_ath', headers: () => dpop({ claims: { ath: undefined } }) },
  { name: 'the ath of another token', reason: 'proof_ath', headers: () => dpop({ accessToken: 'abd' }) },
  { name: 'a nonce that is no text', reason: 'proof_nonce', headers: () => dpop({ claims: { nonce: 1 } }) },
  {
    name: 'another signature',
    reason: 'proof_signature',
    headers: () => dpop({ key: { ...OTHER_KEY, jwk: KEY.jwk } })
  }
]
