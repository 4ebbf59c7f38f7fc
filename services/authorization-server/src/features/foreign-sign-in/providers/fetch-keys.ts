import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { boundedFetch } from './bounded-fetch.js'
import type { Fetch } from './proxied-fetch.js'

/** A key that signatures cannot be verified with. */
type SkippedKey = { kid: string | undefined; reason: 'not_an_object' | 'not_a_public_key' }

export type OnSkippedKey = (skipped: SkippedKey) => void

/**
 * `boundedFetch` for the key set of a provider (RFC 7517 §5), without the keys that cannot be used. The libraries refuse a whole
 * set with one of them, or find two keys for one `kid`. A signature by a skipped key is not accepted, as before.
 */
export function fetchKeys(send: Fetch, onSkipped: OnSkippedKey): typeof boundedFetch {
  return async (url, options) => {
    const response = await boundedFetch(url, options, send)
    const text = await response.text()
    const { status, statusText, headers } = response
    return new Response(withUsableKeys(text, onSkipped), { status, statusText, headers })
  }
}

function withUsableKeys(text: string, onSkipped: OnSkippedKey): string {
  const set = parse(text)
  if (!isObject(set) || !Array.isArray(set.keys)) return text
  const keys = set.keys.filter((key: unknown) => {
    const reason = problemOf(key)
    if (reason !== undefined) onSkipped({ kid: kidOf(key), reason })
    return reason === undefined
  })
  return JSON.stringify({ ...set, keys })
}

function problemOf(key: unknown): SkippedKey['reason'] | undefined {
  if (!isObject(key)) return 'not_an_object'
  try {
    createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    return undefined
  } catch {
    return 'not_a_public_key'
  }
}

function kidOf(key: unknown): string | undefined {
  return isObject(key) && typeof key.kid === 'string' ? key.kid.slice(0, 100) : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
