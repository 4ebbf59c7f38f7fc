import { createSecretKey, hkdfSync } from 'node:crypto'
import { createMac, isMac } from '../rotating-mac.js'
import { decodeCanonical } from './compact-jws.js'

/** The secrets and the server of nonces. */
export type NonceSettings = {
  /** The first one makes nonces, all of them verify, so that keys can be rotated. */
  keys: readonly string[]
  role: 'authorization server' | 'resource server'
  /** The issuer or the resource identifier: the nonces of another server with the same keys are refused. */
  server: string
}

/** Nonces for DPoP proofs (RFC 9449 §8, §9). All processes with the same settings accept each other's nonces. */
export type ProofNonces = {
  /** The newest nonce, for the header `DPoP-Nonce`. */
  newest(now: Date): string
  /** `old`: accepted, but the response should have the newest one. */
  judge(nonce: string, now: Date): 'newest' | 'old' | 'refused'
}

const STEP_MS = 60_000
/** Steps before and after the present one. The latter are of a process whose clock is ahead. */
const STEPS = { before: 2, after: 1 }
const STEP_BYTES = 4
const MAC_BYTES = 16

/** For how long a nonce is accepted at most, in milliseconds. */
export const NONCE_LIFETIME_MS = (STEPS.before + 1 + STEPS.after) * STEP_MS

/** @throws {TypeError} without a key */
export function createProofNonces({ keys, role, server }: NonceSettings): ProofNonces {
  if (keys.length === 0) throw new TypeError('nonces need at least one key')
  // Other uses of the same secret have other keys, and so has the other role.
  const macKeys = keys.map((key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `valetkey DPoP nonces of the ${role}`, 32)))
  )
  const newestKey = macKeys.slice(0, 1)
  const formerKeys = macKeys.slice(1)
  const textOf = (step: Buffer) => `${server}\n${step.toString('hex')}`

  return {
    newest(now) {
      const step = Buffer.alloc(STEP_BYTES)
      step.writeUInt32BE(stepAt(now))
      const mac = createMac(newestKey, textOf(step)).subarray(0, MAC_BYTES)
      return Buffer.concat([step, mac]).toString('base64url')
    },
    judge(nonce, now) {
      const bytes = decodeCanonical(nonce)
      if (bytes?.length !== STEP_BYTES + MAC_BYTES) return 'refused'
      const age = stepAt(now) - bytes.readUInt32BE()
      if (age > STEPS.before || age < -STEPS.after) return 'refused'
      const text = textOf(bytes.subarray(0, STEP_BYTES))
      const mac = bytes.subarray(STEP_BYTES)
      // A nonce of a clock that is ahead is not replaced by an older one.
      if (isMac(mac, newestKey, text, undefined, MAC_BYTES)) return age <= 0 ? 'newest' : 'old'
      return isMac(mac, formerKeys, text, undefined, MAC_BYTES) ? 'old' : 'refused'
    }
  }
}

function stepAt(now: Date): number {
  return Math.floor(now.getTime() / STEP_MS)
}
