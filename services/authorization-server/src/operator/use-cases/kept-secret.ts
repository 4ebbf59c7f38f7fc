import { AdministrationError } from './administration-error.js'

/**
 * Printable ASCII characters: every method of client authentication transports them, and none of them needs a space, which
 * form-encoding would confuse with a plus sign. The length stands for the entropy.
 */
const SECRET = /^[\x21-\x7e]{24,256}$/

/** What operators need to know about a secret from another server, of a client or of a resource server. */
export const KEPT_SECRET_METHODS = 'accepted in HTTP Basic, form-encoded or raw, and in a form'

/** @throws {AdministrationError} `invalid` for a secret that no client can keep */
export function requireKeptSecret(secret: string | undefined): void {
  if (secret !== undefined && SECRET.test(secret)) return
  throw new AdministrationError('invalid', 'a secret must have 24 to 256 printable ASCII characters, without spaces')
}
