import { randomBytes } from 'node:crypto'
import {
  type Client,
  digestToken,
  mintClientIdentifier,
  mintOpaqueToken,
  objectionToRedirectUri
} from '@valetkey/oauth-protocol'
import type { ClientRegistration, ClientStore } from '../storage/clients.js'
import type { ScopeStore } from '../storage/scopes.js'
import { CommandFailure } from './exit.js'

export type RegistrationOptions = {
  name: string
  redirectUri: readonly string[]
  scope: readonly string[]
  optionalScope: readonly string[]
  public?: boolean
  refresh: boolean
  requirePkce?: boolean
  verified?: boolean
  consent: string
}

/** With these a name can show as another, and reach into the text beside it (Unicode TR 36 §2.3). */
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/

type Stores = { clients: Pick<ClientStore, 'create'>; scopes: Pick<ScopeStore, 'list'> }

/** Checks a registration and stores it. The secret is in the answer and nowhere else. */
export async function registerClient(
  options: RegistrationOptions,
  stores: Stores
): Promise<{ client: ClientRegistration; clientSecret: string | undefined }> {
  const client = toClient(options)
  await requireKnownScopes([...client.requiredScopes, ...client.optionalScopes], stores.scopes)
  const clientSecret = client.type === 'public' ? undefined : mintOpaqueToken('clientSecret', randomBytes)
  const registration = { ...client, createdAt: new Date(), disabled: false, verified: options.verified === true }
  await stores.clients.create(registration, clientSecret === undefined ? undefined : digestToken(clientSecret))
  return { client: registration, clientSecret }
}

function toClient(options: RegistrationOptions): Client {
  const name = options.name.trim()
  if (name === '' || name.length > 100 || /\p{Cc}/u.test(name)) throw usage('a name has 1 to 100 characters')
  if (BIDI_CONTROL.test(name)) throw usage('a name has no characters that turn the direction of the text around it')
  for (const uri of options.redirectUri) {
    const objection = objectionToRedirectUri(uri)
    if (objection !== undefined) throw usage(`the redirect URI ${JSON.stringify(uri)} ${objection}`)
  }
  const required = toScopes(options.scope)
  const optional = toScopes(options.optionalScope).filter((scope) => !required.includes(scope))
  if (required.length + optional.length === 0) throw usage('name at least one scope, with --scope or --optional-scope')
  const { consent } = options
  if (consent !== 'ask' && consent !== 'remember') throw usage('--consent is ask or remember')
  if (consent === 'remember' && options.public) throw usage('a public client is always asked for: --consent ask')
  return {
    clientId: mintClientIdentifier(randomBytes),
    name,
    type: options.public ? 'public' : 'confidential',
    redirectUris: [...new Set(options.redirectUri)],
    requiredScopes: required,
    optionalScopes: optional,
    requiresPkce: options.public === true || options.requirePkce === true,
    issuesRefreshTokens: options.refresh,
    consent
  }
}

function toScopes(lists: readonly string[]): string[] {
  return [...new Set(lists.flatMap((list) => list.split(/\s+/)).filter((name) => name !== ''))]
}

async function requireKnownScopes(names: readonly string[], scopes: Pick<ScopeStore, 'list'>): Promise<void> {
  const known = (await scopes.list()).map((scope) => scope.name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw usage(`not in the scope catalogue: ${unknown.join(', ')} (see valetkey scopes list)`)
}

function usage(message: string): CommandFailure {
  return new CommandFailure('usage', message)
}
