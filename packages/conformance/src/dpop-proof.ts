import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'

/** A key of the client for DPoP proofs: ES256. */
export type DpopKey = {
  privateKey: KeyObject
  jwk: { crv: string; kty: string; x: string; y: string }
  /** SHA-256 (RFC 7638): `dpop_jkt`. */
  thumbprint: string
}

export function newDpopKey(): DpopKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { crv = '', kty = '', x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const jwk = { crv, kty, x, y }
  return { privateKey, jwk, thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url') }
}

/**
 * A proof for `POST` to this URL (RFC 9449 §4.2).
 * @param change.signedBy signs instead of the key that the proof names
 */
export function newDpopProof(
  key: DpopKey,
  url: string,
  { nonce, signedBy = key }: { nonce?: string | undefined; signedBy?: DpopKey | undefined } = {}
): string {
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk }
  const iat = Math.floor(Date.now() / 1_000)
  const payload = { jti: randomUUID(), htm: 'POST', htu: url, iat, ...(nonce !== undefined && { nonce }) }
  const text = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(text), { key: signedBy.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}
