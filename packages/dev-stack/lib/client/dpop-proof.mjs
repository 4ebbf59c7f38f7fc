// DPoP proofs (RFC 9449 §4.2), made with Node alone, so that no library is on both sides of a test.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'

/** @typedef {{ privateKey: import('node:crypto').KeyObject, jwk: object, thumbprint: string }} ProofKey */

/** @returns {ProofKey} */
export function newProofKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' })
  const jwk = { crv, kty, x, y }
  return { privateKey, jwk, thumbprint: sha256(JSON.stringify(jwk)) }
}

/**
 * @typedef {object} ProofOf
 * @property {ProofKey} key
 * @property {string} [accessToken]
 * @property {string} [method]
 * @property {string} url
 * @property {Record<string, unknown>} [header] replaces members; undefined removes one
 * @property {Record<string, unknown>} [claims] the same
 */

/** @param {ProofOf} of */
export function makeProof({ key, accessToken, method = 'GET', url, header, claims }) {
  const protectedHeader = { typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk, ...header }
  const payload = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(Date.now() / 1_000),
    ...(accessToken !== undefined && { ath: sha256(accessToken) }),
    ...claims
  }
  const input = `${encode(protectedHeader)}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

/** @param {object} members */
const encode = (members) => Buffer.from(JSON.stringify(members)).toString('base64url')

/** @param {string} text */
const sha256 = (text) => createHash('sha256').update(text).digest('base64url')
