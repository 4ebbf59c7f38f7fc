import { randomBytes } from 'node:crypto'
import { hashToken, mintClientIdentifier, mintOpaqueToken, scopesOf, secretIdOf } from '@valetkey/oauth-protocol'
import type { ClientRegistration, NewClient } from '../../storage/postgres/clients.js'
import type { Author } from './actor.js'
import type { ClientAdministration } from './administer-client.js'
import { AdministrationError } from './administration-error.js'
import { newClientDocument } from './client-document.js'
import { type ClientSettings, requireKnownScopes, withSettings } from './client-settings.js'
import { recordChange } from './record-change.js'

export type Registration = ClientSettings & { name: string; redirectUris: readonly string[]; type: ClientType }

type ClientType = ClientRegistration['type']
export type NewSecret = { clientSecret: string; secretId: string }

/** Registers a client. Only the result contains its secret. */
export async function registerClient(
  { type, ...settings }: Registration,
  author: Author,
  deps: ClientAdministration
): Promise<{ client: ClientRegistration; secret: NewSecret | undefined }> {
  const client = await withSettings(newClient(type), settings, deps)
  await requireKnownScopes(scopesOf(client), deps.scopes)
  const clientSecret = type === 'public' ? undefined : mintOpaqueToken('clientSecret', randomBytes)
  const hash = clientSecret === undefined ? undefined : hashToken(clientSecret)
  const secretId = hash && secretIdOf(hash)
  const { client_id: clientId, ...kept } = newClientDocument(client)
  const event = { event: 'client_created', clientId, details: { ...kept, ...(secretId && { secretId }) } } as const
  const createdAt = await recordChange(event, author, (note) => deps.changes.create(client, hash, note))
  if (createdAt === undefined) {
    await requireKnownScopes(scopesOf(client), deps.scopes)
    throw new AdministrationError('conflict', 'the scope catalogue was changed by another command; try again')
  }
  return { client: { ...client, createdAt }, secret: clientSecret && secretId ? { clientSecret, secretId } : undefined }
}

function newClient(type: ClientType): NewClient {
  return {
    clientId: mintClientIdentifier(randomBytes),
    name: '',
    type,
    redirectUris: [],
    requiredScopes: [],
    optionalScopes: [],
    requiresPkce: type === 'public',
    issuesRefreshTokens: true,
    consent: 'ask',
    disabled: false,
    verified: false
  }
}
