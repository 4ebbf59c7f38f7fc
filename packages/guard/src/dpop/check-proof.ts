import { hash } from 'node:crypto'
import {
  type CheckedProof,
  checkDpopProof,
  comparableTargetUri,
  createProofNonces,
  NONCE_LIFETIME_MS,
  rememberKeys
} from '@valetkey/oauth-protocol/signed'
import type { DpopSettings } from './dpop-options.js'
import { createReplaySet, type ReplayStatistics } from './replay-set.js'

/** A request with a token that is bound to a key. */
export type BoundRequest = {
  method: string | undefined
  /** As the client sent it, before any rewriting: path and query, or the complete URL. */
  url: string | undefined
  /** Every `DPoP` header. */
  proofs: readonly string[]
  accessToken: string
  /** Of the key that the token is bound to. */
  thumbprint: string
  now: Date
}

/** @property nextNonce for the header `DPoP-Nonce` of the response */
export type ProofOutcome =
  | { kind: 'valid'; nextNonce?: string | undefined }
  | { kind: 'refused'; code: RefusalCode; reason: string; nextNonce?: string }
  /** The replay store does not know whether the proof was used before. */
  | { kind: 'unavailable'; reason: string; error?: unknown }

type RefusalCode = 'invalid_dpop_proof' | 'use_dpop_nonce' | 'invalid_token'

export type ProofChecker = {
  check(request: BoundRequest): Promise<ProofOutcome>
  /** Undefined with a `replayStore`. */
  statistics(): ReplayStatistics | undefined
}

/** Proofs in each second of the window that one process can remember. */
const PROOFS_PER_SECOND = 2_000
const STORE_TIMEOUT_MS = 2_000

/** Checks the proofs of requests (RFC 9449 §4.3, §7.1), in the order of their cost: the signature late, the use last. */
export function createProofChecker(settings: DpopSettings): ProofChecker {
  const { base, toleranceSeconds, replayStore } = settings
  const keys = rememberKeys()
  const nonces = settings.nonces && createProofNonces({ ...settings.nonces, role: 'resource server' })
  // A proof is valid as long as its nonce, or from `toleranceSeconds` before its time to as long after it.
  const windowMs = nonces ? NONCE_LIFETIME_MS : 2 * toleranceSeconds * 1_000
  const seen = replayStore ? undefined : createReplaySet({ windowMs, capacity: (windowMs / 1_000) * PROOFS_PER_SECOND })

  async function use(key: string): Promise<'first' | 'used' | 'full'> {
    if (replayStore === undefined) return seen?.use(key) ?? 'full'
    return (await withinTime(replayStore.firstUse(key, windowMs))) ? 'first' : 'used'
  }

  return {
    async check({ method = '', url = '', proofs, accessToken, thumbprint, now }) {
      if (proofs.length === 0) return refused('proof_missing')
      const targetUri = targetUriOf(base, url)
      if (targetUri === undefined) return refused('proof_htu')
      const token = { accessToken, thumbprint }
      const checked = await checkDpopProof(proofs, { method, targetUri, now, toleranceSeconds, token, nonces }, keys)
      if (checked.kind !== 'valid') return refusalOf(checked)
      // Last, and for each key, so that only a valid proof uses up its identifier.
      const key = hash('sha256', `${checked.thumbprint}\n${checked.jti}`, 'base64url')
      try {
        const result = await use(key)
        if (result === 'full') return { kind: 'unavailable', reason: 'replay_set_full' }
        return result === 'first' ? { kind: 'valid', nextNonce: checked.nextNonce } : refused('proof_used')
      } catch (error) {
        return { kind: 'unavailable', reason: 'replay_store', error }
      }
    },
    statistics: () => seen?.statistics()
  }
}

/** Never from `Host` or `X-Forwarded-…`: anyone can send these. */
function targetUriOf(base: string, url: string): string | undefined {
  const path = /^https?:\/\/[^/?#]*(.*)$/is.exec(url)?.[1] ?? url
  return path === '' || path.startsWith('/') || path.startsWith('?') ? comparableTargetUri(base + path) : undefined
}

function refusalOf(checked: Exclude<CheckedProof, { kind: 'valid' }>): ProofOutcome {
  const reason = `proof_${checked.reason}`
  if (checked.kind === 'nonce_required')
    return { kind: 'refused', code: 'use_dpop_nonce', reason, nextNonce: checked.nextNonce }
  // The token of another key is not valid for this client, whatever its proof says.
  return refused(reason, checked.reason === 'other_key' ? 'invalid_token' : 'invalid_dpop_proof')
}

function refused(reason: string, code: RefusalCode = 'invalid_dpop_proof'): ProofOutcome {
  return { kind: 'refused', code, reason }
}

/** A store that does not respond must not keep requests. @throws after a time */
function withinTime<Answer>(answer: Answer | Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the replay store did not respond in time')), STORE_TIMEOUT_MS)
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}
