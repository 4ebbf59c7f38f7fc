import { CLIENT_IDENTIFIER_RULE, isClientIdentifier } from '@valetkey/oauth-protocol'
import { AdministrationError } from './administration-error.js'

/** @throws {AdministrationError} `invalid` for an id that no client and no resource server can be registered with */
export function requireClientIdentifier(clientId: string): void {
  if (isClientIdentifier(clientId)) return
  throw new AdministrationError('invalid', `a client id must have ${CLIENT_IDENTIFIER_RULE}`)
}
