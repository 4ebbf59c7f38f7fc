/**
 * Algorithms of ID tokens, logout tokens and signed UserInfo: every asymmetric one that providers use. Never `none`, and no
 * shared secrets. The keys of the provider decide, because not all providers announce what they use. `Ed25519` is the new name of
 * EdDSA (RFC 9864).
 */
export const ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519'
]
