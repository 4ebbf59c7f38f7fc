import { createPublicKey } from 'node:crypto'
import type { JwkSet } from '../../storage/postgres/client-keys.js'

/** @property objection the end of a sentence that begins with the place of the text */
type ReadKeyText = { kind: 'jwks'; jwks: JwkSet } | { kind: 'refused'; objection: string }

/** Reads a JWK Set, one JWK, or public keys in PEM. Each key is validated later. */
export function readKeyText(text: string): ReadKeyText {
  if (text.includes('-----BEGIN')) return readPem(text)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return {
        kind: 'jwks',
        jwks: 'keys' in value && Array.isArray(value.keys) ? { keys: value.keys } : { keys: [value] }
      }
    }
  } catch {}
  return refused('has no JWK Set, JWK or PEM')
}

function readPem(text: string): ReadKeyText {
  if (text.includes('PRIVATE KEY')) return refused('has a private key: keep it at the app, and pass its public key')
  const blocks = text.match(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g) ?? []
  try {
    return { kind: 'jwks', jwks: { keys: blocks.map((block) => createPublicKey(block).export({ format: 'jwk' })) } }
  } catch {
    return refused('has no public key in PEM that can be read')
  }
}

function refused(objection: string): ReadKeyText {
  return { kind: 'refused', objection }
}
