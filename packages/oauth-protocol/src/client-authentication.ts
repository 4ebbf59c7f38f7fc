import { readBasicCredentials, usesBasicScheme } from './basic-credentials.js'
import type { FormParameters } from './parameters.js'

/** What the client may have meant by its secret (see `readBasicCredentials`): it is authenticated if one is right. */
type Readings = readonly [string, ...string[]]

export type ClientCredentials =
  | { kind: 'secret'; method: 'client_secret_basic' | 'client_secret_post'; clientId: string; clientSecrets: Readings }
  /** An identifier without a secret: enough for a public client, never for a confidential one. */
  | { kind: 'identifier'; clientId: string; usedHeader: boolean }
  | { kind: 'malformed'; description: string }
  | { kind: 'unusable'; usedHeader: boolean; reason: 'no_credentials' | 'other_scheme' | 'bad_basic' }

/**
 * Reads the credentials of a client from header and form (RFC 6749 §2.3).
 * @param authorization every Authorization header of the request
 */
export function readClientCredentials(authorization: readonly string[], form: FormParameters): ClientCredentials {
  const unreadable = ['client_id', 'client_secret'].find((name) => form.isRepeated(name) || form.isMalformed(name))
  if (unreadable) return { kind: 'malformed', description: `The parameter ${unreadable} is repeated or malformed.` }
  if (authorization.length > 1)
    return { kind: 'malformed', description: 'More than one Authorization header was sent.' }

  const [header] = authorization
  return header === undefined ? readBody(form) : readHeader(header, form)
}

function readHeader(header: string, form: FormParameters): ClientCredentials {
  if (!usesBasicScheme(header)) return { kind: 'unusable', usedHeader: true, reason: 'other_scheme' }
  const basic = readBasicCredentials(header)
  if (basic === undefined) return { kind: 'unusable', usedHeader: true, reason: 'bad_basic' }
  // A request has at most one method (RFC 6749 §2.3).
  if (form.get('client_secret') !== undefined)
    return { kind: 'malformed', description: 'Two methods of client authentication were used.' }
  const bodyClientId = form.get('client_id')
  if (bodyClientId !== undefined && bodyClientId !== basic.clientId) {
    return { kind: 'malformed', description: 'client_id differs from the one in the Authorization header.' }
  }
  if (basic.clientSecrets[0] === '') return { kind: 'identifier', clientId: basic.clientId, usedHeader: true }
  return { kind: 'secret', method: 'client_secret_basic', ...basic }
}

function readBody(form: FormParameters): ClientCredentials {
  const clientId = form.get('client_id')
  const clientSecret = form.get('client_secret')
  if (clientId === undefined) return { kind: 'unusable', usedHeader: false, reason: 'no_credentials' }
  if (clientSecret === undefined) return { kind: 'identifier', clientId, usedHeader: false }
  return { kind: 'secret', method: 'client_secret_post', clientId, clientSecrets: [clientSecret] }
}
