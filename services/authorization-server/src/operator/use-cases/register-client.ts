import { randomBytes } from 'node:crypto'
import { hashToken, newClientIdentifier, scopesOf, secretIdOf } from '@valetkey/oauth-protocol'
import { isUniqueViolation } from '@valetkey/service-kit'
import { createClientSecret } from '../../platform/clients/client-secret-rules.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { Author } from './actor.js'
import type { ClientAdministration } from './administer-client.js'
import { AdministrationError } from './administration-error.js'
import { newClientDocument } from './client-document.js'
import type { ClientSettings } from './client-members.js'
import { withSettingsOfProfile } from './client-profile.js'
import { newClient, requireKnownScopes, withSettings } from './client-settings.js'
import { requireKeptSecret } from './kept-secret.js'
import { recordChange } from './record-change.js'
import { requireClientIdentifier } from './require-client-identifier.js'

export type Registration = ClientSettings & {
  name: string
  redirectUris: readonly string[]
  type: ClientType
  /** The id and the secret that the client has at another server. Undefined: new ones. A public client has no secret. */
  given?: GivenCredentials | undefined
}

export type GivenCredentials = { clientId: string; clientSecret: string | undefined }

type ClientType = ClientRegistration['type']
export type NewSecret = { clientSecret: string; secretId: string }

/** Registers a client. Only the result contains its secret. */
export async function registerClient(
  { type, given, ...chosen }: Registration,
  author: Author,
  deps: ClientAdministration
): Promise<{ client: ClientRegistration; secret: NewSecret | undefined }> {
  const settings = withSettingsOfProfile(chosen, type)
  const hasSecret = hasOwnSecret(type, settings)
  const { clientId: id, clientSecret } =
    given === undefined ? newCredentials(hasSecret) : requireUsable(given, hasSecret)
  const client = await withSettings(newClient(id, type), settings, deps)
  await requireKnownScopes(scopesOf(client), deps.scopes)
  const hash = clientSecret === undefined ? undefined : hashToken(clientSecret)
  const secretId = hash && secretIdOf(hash)
  const { client_id: clientId, ...kept } = newClientDocument(client)
  const event = { event: 'client_created', clientId, details: { ...kept, ...(secretId && { secretId }) } } as const
  const createdAt = await recordChange(event, author, (note) => deps.changes.create(client, hash, note)).catch(
    (error) => {
      throw isUniqueViolation(error) ? new AdministrationError('conflict', `client ${clientId} exists already`) : error
    }
  )
  if (createdAt === undefined) {
    await requireKnownScopes(scopesOf(client), deps.scopes)
    throw new AdministrationError('conflict', 'the scope catalogue was changed by another command; try again')
  }
  return { client: { ...client, createdAt }, secret: clientSecret && secretId ? { clientSecret, secretId } : undefined }
}

/** Whether a client has a secret, which a public client and one with keys do not. */
export function hasOwnSecret(type: ClientType, { authMethod }: Pick<ClientSettings, 'authMethod'>): boolean {
  return type === 'confidential' && authMethod !== 'private_key_jwt'
}

function newCredentials(hasSecret: boolean): GivenCredentials {
  return {
    clientId: newClientIdentifier(randomBytes),
    clientSecret: hasSecret ? createClientSecret(randomBytes).clientSecret : undefined
  }
}

/** @throws {AdministrationError} `invalid` */
export function requireUsable(given: GivenCredentials, hasSecret: boolean): GivenCredentials {
  requireClientIdentifier(given.clientId)
  if (hasSecret) requireKeptSecret(given.clientSecret)
  else if (given.clientSecret !== undefined)
    throw new AdministrationError('invalid', 'a client that is public or has keys has no secret')
  return given
}
