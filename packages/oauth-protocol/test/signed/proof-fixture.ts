import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export type TestKey = { algorithm: string; privateKey: CryptoKey; jwk: JWK }

/** @param algorithm `ES256`, `PS256`, `RS256`, `EdDSA` or `Ed25519` */
export async function createKey(algorithm = 'ES256'): Promise<TestKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { algorithm, privateKey, jwk: await exportJWK(publicKey) }
}

/** A JWS with these members; undefined removes one of the header's usual members. */
export function sign(
  key: TestKey,
  payload: Record<string, unknown>,
  header: Record<string, unknown> = {}
): Promise<string> {
  const protectedHeader = { alg: key.algorithm, typ: 'dpop+jwt', jwk: key.jwk, ...header }
  return new SignJWT(payload).setProtectedHeader(protectedHeader).sign(key.privateKey)
}

/** The same parts with other members in one of them; the signature does not fit any more. */
export function withPart(jws: string, index: 0 | 1, change: (members: Record<string, unknown>) => unknown): string {
  const parts = jws.split('.')
  const members = JSON.parse(Buffer.from(parts[index] ?? '', 'base64url').toString())
  parts[index] = Buffer.from(JSON.stringify(change(members))).toString('base64url')
  return parts.join('.')
}
