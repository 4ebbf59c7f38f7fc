import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { Provisioning } from './provider-settings.js'

/** A login page that is no OpenID provider. It signs a one-time assertion about the user (examples/login-page/README.md). */
export type HandoffSettings = {
  /** Address of the login page, `LOGIN_HANDOFF_URL`. */
  url: string
  /** `iss` of its assertions, `LOGIN_HANDOFF_ISSUER`. */
  issuer: string
  /** Name on the sign-in page, `LOGIN_HANDOFF_LABEL`. */
  label: string
  /** Public keys that verify its assertions, `LOGIN_HANDOFF_KEYS`. */
  keys: readonly JsonWebKey[]
  /** What happens at the first sign-in of a person who is linked to no user, `LOGIN_HANDOFF_PROVISIONING`. */
  provisioning: Provisioning
}

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'k']

/**
 * Reads `LOGIN_HANDOFF_KEYS`: a JWK set (RFC 7517 §5) of public keys for ES256 or EdDSA.
 * @returns the keys, or what is wrong with them
 */
export function readHandoffKeys(text: string): { keys: readonly JsonWebKey[] } | { problem: string } {
  const keys = parseKeys(text)
  if (keys === undefined || keys.length === 0) return { problem: 'is not a JWK set with at least one key' }
  if (keys.some((key) => PRIVATE_MEMBERS.some((member) => member in key))) {
    return { problem: 'has a private key; only public keys belong here' }
  }
  if (!keys.every(isUsable)) {
    return { problem: 'has a key that is neither EC P-256 (ES256) nor OKP Ed25519 (EdDSA), or that cannot be read' }
  }
  return { keys }
}

function isUsable(key: JsonWebKey): boolean {
  const isKnown = (key.kty === 'EC' && key.crv === 'P-256') || (key.kty === 'OKP' && key.crv === 'Ed25519')
  try {
    return isKnown && createPublicKey({ key, format: 'jwk' }).type === 'public'
  } catch {
    return false
  }
}

function parseKeys(text: string): readonly JsonWebKey[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    const areObjects = Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null)
    return areObjects ? (keys as readonly JsonWebKey[]) : undefined
  } catch {
    return undefined
  }
}
