import { compactVerify, importJWK } from 'jose'
import type { CompactJws } from './compact-jws.js'
import type { PublicKey, SignatureAlgorithm } from './public-key.js'

/** Whether the key can be used: an EC key may have a point that is not on its curve. */
export async function isUsableKey({ jwk, algorithms: [algorithm] }: PublicKey): Promise<boolean> {
  try {
    await importJWK(jwk, algorithm)
    return true
  } catch {
    return false
  }
}

/**
 * Whether the key has signed the JWS. `alg` of the header must be an algorithm of the key and of the caller's list, so no header
 * chooses another kind of verification (RFC 8725 §3.1). jose imports the frozen `jwk` of a key once.
 */
export async function isSignedBy(
  jws: CompactJws,
  key: PublicKey,
  allowed: readonly SignatureAlgorithm[]
): Promise<boolean> {
  const algorithm = key.algorithms.find((one) => one === jws.header.alg)
  if (algorithm === undefined || !allowed.includes(algorithm)) return false
  try {
    await compactVerify(jws.text, key.jwk, { algorithms: [algorithm] })
    return true
  } catch {
    return false
  }
}
