import type { FormParameters } from './parameters.js'

export type ClientCredentials =
  | { kind: 'secret'; method: 'client_secret_basic' | 'client_secret_post'; clientId: string; clientSecret: string }
  /** Only an identifier: enough for a public client, never for a confidential one. */
  | { kind: 'identifier'; clientId: string; usedHeader: boolean }
  | { kind: 'malformed'; description: string }
  | { kind: 'unusable'; usedHeader: boolean; reason: 'no_credentials' | 'other_scheme' | 'bad_basic' }

/**
 * Reads how a client presents itself (RFC 6749 §2.3). `authorization` holds every Authorization header of the request.
 * Basic is taken form-encoded, as §2.3.1 demands, and raw, as half of the libraries send it: identifiers and secrets
 * have only characters for which both are the same.
 */
export function readClientCredentials(authorization: readonly string[], form: FormParameters): ClientCredentials {
  const unreadable = ['client_id', 'client_secret'].find((name) => form.isRepeated(name) || form.isMalformed(name))
  if (unreadable) return { kind: 'malformed', description: `The parameter ${unreadable} is repeated or malformed.` }
  if (authorization.length > 1)
    return { kind: 'malformed', description: 'More than one Authorization header was sent.' }

  const header = authorization[0]
  const bodyClientId = form.get('client_id')
  const bodySecret = form.get('client_secret')
  if (header === undefined) return readBody(bodyClientId, bodySecret)

  if (!/^basic(?: |$)/i.test(header)) return { kind: 'unusable', usedHeader: true, reason: 'other_scheme' }
  const basic = decodeBasic(header)
  if (basic === undefined) return { kind: 'unusable', usedHeader: true, reason: 'bad_basic' }
  // RFC 6749 §2.3: no more than one method in a request.
  if (bodySecret !== undefined)
    return { kind: 'malformed', description: 'Two ways of client authentication were used.' }
  if (bodyClientId !== undefined && bodyClientId !== basic.clientId) {
    return { kind: 'malformed', description: 'client_id differs from the one in the Authorization header.' }
  }
  if (basic.clientSecret === '') return { kind: 'identifier', clientId: basic.clientId, usedHeader: true }
  return { kind: 'secret', method: 'client_secret_basic', ...basic }
}

function readBody(clientId: string | undefined, clientSecret: string | undefined): ClientCredentials {
  if (clientId === undefined) return { kind: 'unusable', usedHeader: false, reason: 'no_credentials' }
  if (clientSecret === undefined) return { kind: 'identifier', clientId, usedHeader: false }
  return { kind: 'secret', method: 'client_secret_post', clientId, clientSecret }
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
// Without `fatal` all bytes that are not UTF-8 would become one and the same character.
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const CONTROL_CHARACTER = /\p{Cc}/u

/** Reads Basic credentials (RFC 6749 §2.3.1): UTF-8 without control characters, in either spelling (RFC 7617 §2). */
export function decodeBasic(header: string): { clientId: string; clientSecret: string } | undefined {
  const text = decodeBase64(BASIC.exec(header)?.[1] ?? '')
  const colon = text.indexOf(':')
  if (colon < 1) return undefined
  const clientId = decodeForm(text.slice(0, colon))
  const clientSecret = decodeForm(text.slice(colon + 1))
  return CONTROL_CHARACTER.test(clientId + clientSecret) ? undefined : { clientId, clientSecret }
}

function decodeBase64(encoded: string): string {
  try {
    return UTF_8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return ''
  }
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
