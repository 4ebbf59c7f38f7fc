/** Algorithms of DPoP proofs, in the order of `dpop_signing_alg_values_supported` (RFC 9449 §5.1). */
export const DPOP_ALGORITHMS = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const
