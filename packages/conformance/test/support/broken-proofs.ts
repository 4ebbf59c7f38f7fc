import { createHash, createPublicKey, verify } from 'node:crypto'
import type { Has } from './faults.js'

/** @returns the thumbprint of the key; false if the proof is refused */
export function keyOfProof(proof: string, url: string, has: Has): string | false {
  const [header = '', payload = '', signature = ''] = proof.split('.')
  const { jwk } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const { htu } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
  const isSigned = verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'))
  if (!isSigned && !has('does not verify proofs')) return false
  if (htu !== url && !has('does not compare the address of proofs')) return false
  return createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
}
