import { createHash } from 'node:crypto'
import { DPOP_ALGORITHMS } from '../dpop-algorithms.js'
import { type CompactJws, type JsonMembers, readCompactJws } from './compact-jws.js'
import type { KnownKeys } from './known-keys.js'
import type { ProofNonces } from './proof-nonces.js'
import { readPublicKey, type SignatureAlgorithm } from './public-key.js'
import { comparableTargetUri } from './target-uri.js'
import { isSignedBy } from './verify-signature.js'

/** What a proof must say (RFC 9449 §4.3). */
export type ExpectedProof = {
  /** Of the request, in upper case. */
  method: string
  /** Of the request, as `comparableTargetUri` returns it. */
  targetUri: string
  now: Date
  /** How long before and after `now` a proof may have been made. Unused with `nonces`. */
  toleranceSeconds: number
  /** For a request with an access token. @property thumbprint of the key that the token is bound to */
  token?: { accessToken: string; thumbprint: string } | undefined
  /** Requires a nonce; then its time counts, and the clock of the client does not matter (RFC 9449 §4.3 item 11). */
  nonces?: ProofNonces | undefined
}

/** Why a proof is refused; only for logs. */
type ProofRefusal =
  | 'not_one_proof'
  | 'not_a_jws'
  | 'typ'
  | 'alg'
  | 'crit'
  | 'jwk'
  | 'jti'
  | 'htm'
  | 'htu'
  | 'iat'
  | 'ath'
  | 'other_key'
  | 'nonce'
  | 'signature'

export type CheckedProof =
  /**
   * The caller refuses a `jti` that the same key has used before.
   * @property thumbprint of the key (RFC 7638)
   * @property nextNonce the newest nonce, if the proof has an older one: for the header `DPoP-Nonce` of the response
   */
  | { kind: 'valid'; thumbprint: string; jti: string; nextNonce: string | undefined }
  | { kind: 'refused'; reason: ProofRefusal }
  /** `use_dpop_nonce`, with the header `DPoP-Nonce`. The signature is not verified. */
  | { kind: 'nonce_required'; reason: 'nonce_missing' | 'nonce_refused'; nextNonce: string }

const MAX_JTI_LENGTH = 256

/**
 * Checks the DPoP proof of a request. All comparisons come before the signature, because they cost less.
 * @param headers every `DPoP` header of the request; a missing header is for the caller, an empty one is a bad proof
 */
export async function checkDpopProof(
  headers: readonly string[],
  expected: ExpectedProof,
  keys: KnownKeys
): Promise<CheckedProof> {
  const [header] = headers
  if (header === undefined || headers.length > 1) return { kind: 'refused', reason: 'not_one_proof' }
  const jws = readCompactJws(header)
  if (jws === undefined) return { kind: 'refused', reason: 'not_a_jws' }
  const read = readPublicKey(jws.header.jwk)
  if (read.kind === 'refused') return { kind: 'refused', reason: faultInHeader(jws, []) ?? 'jwk' }
  const { algorithms, thumbprint } = read.key
  const reason =
    faultInHeader(jws, algorithms) ??
    faultInPayload(jws.payload, expected) ??
    (expected.token && faultInBinding(jws.payload, thumbprint, expected.token))
  if (reason !== undefined) return { kind: 'refused', reason }
  const { jti, nonce } = jws.payload
  const judged = expected.nonces && judgeNonce(nonce as string | undefined, expected.nonces, expected.now)
  if (judged?.kind === 'nonce_required') return judged
  if (!(await isSignedBy(jws, keys.known(read.key), DPOP_ALGORITHMS))) return { kind: 'refused', reason: 'signature' }
  keys.remember(read.key)
  return { kind: 'valid', thumbprint, jti: jti as string, nextNonce: judged?.nextNonce }
}

/** @param algorithms of the key in the header; empty if it is no key */
function faultInHeader({ header }: CompactJws, algorithms: readonly SignatureAlgorithm[]): ProofRefusal | undefined {
  // Exactly this text: the longer form `application/dpop+jwt` is not the one of RFC 9449 §4.2.
  if (header.typ !== 'dpop+jwt') return 'typ'
  if (!DPOP_ALGORITHMS.some((algorithm) => algorithm === header.alg)) return 'alg'
  if (Object.hasOwn(header, 'crit')) return 'crit'
  return algorithms.some((algorithm) => algorithm === header.alg) ? undefined : 'jwk'
}

function faultInPayload({ jti, htm, htu, iat, nonce }: JsonMembers, expected: ExpectedProof): ProofRefusal | undefined {
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) return 'jti'
  if (htm !== expected.method) return 'htm'
  if (typeof htu !== 'string' || comparableTargetUri(htu) !== expected.targetUri) return 'htu'
  if (typeof iat !== 'number' || !Number.isFinite(iat)) return 'iat'
  if (nonce !== undefined && typeof nonce !== 'string') return 'nonce'
  if (expected.nonces !== undefined) return undefined
  return Math.abs(iat - expected.now.getTime() / 1_000) <= expected.toleranceSeconds ? undefined : 'iat'
}

function judgeNonce(
  nonce: string | undefined,
  nonces: ProofNonces,
  now: Date
): { kind: 'accepted'; nextNonce: string | undefined } | Extract<CheckedProof, { kind: 'nonce_required' }> {
  const judgement = nonce === undefined ? 'missing' : nonces.judge(nonce, now)
  switch (judgement) {
    case 'newest':
      return { kind: 'accepted', nextNonce: undefined }
    case 'old':
      return { kind: 'accepted', nextNonce: nonces.newest(now) }
    case 'missing':
    case 'refused':
      return { kind: 'nonce_required', reason: `nonce_${judgement}`, nextNonce: nonces.newest(now) }
  }
}

function faultInBinding(
  { ath }: JsonMembers,
  thumbprint: string,
  token: NonNullable<ExpectedProof['token']>
): ProofRefusal | undefined {
  if (ath !== createHash('sha256').update(token.accessToken).digest('base64url')) return 'ath'
  return thumbprint === token.thumbprint ? undefined : 'other_key'
}

/** A text that can be the thumbprint of a key (RFC 7638 with SHA-256), as `dpop_jkt` sends it (RFC 9449 §10). */
export function isThumbprint(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}
