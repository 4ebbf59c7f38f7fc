/** Algorithms of ID tokens and logout tokens. Never `none`, and no shared secrets. `Ed25519` is the new name of EdDSA (RFC 9864). */
export const ALGORITHMS: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
