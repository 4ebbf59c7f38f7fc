import { objectionToKeySetUrl } from '@valetkey/oauth-protocol/signed'
import { readUsableKeys } from '../../platform/clients/client-keys.js'
import type { KeyAuthentication, StoredJwk } from '../../storage/postgres/client-keys.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import { AdministrationError } from './administration-error.js'
import type { ClientSettings } from './client-members.js'

type KeySettings = Pick<ClientSettings, 'authMethod' | 'jwks' | 'jwksUri'>

const NO_KEY = { privateKeyJwt: undefined, jwksUri: undefined, keys: undefined }

/**
 * How a client authenticates after these settings. A client has one method, and with `private_key_jwt` its keys or their address
 * (RFC 7591 §2).
 * @throws {AdministrationError} `invalid`
 */
export async function withKeySettings(
  client: NewClient,
  { authMethod, jwks, jwksUri }: KeySettings
): Promise<Partial<KeyAuthentication>> {
  const method = authMethod ?? (client.privateKeyJwt === undefined ? methodOfType(client) : 'private_key_jwt')
  const hasKeySettings = jwks !== undefined || (jwksUri !== undefined && jwksUri !== '')
  if (method !== 'private_key_jwt') {
    requireMethodOfType(method, client)
    if (hasKeySettings) throw invalid('keys are for auth_method private_key_jwt')
    return authMethod === undefined ? {} : NO_KEY
  }
  if (client.type === 'public') throw invalid('a public client cannot have auth_method private_key_jwt')
  if (jwks !== undefined && jwksUri) throw invalid('pass jwks or jwks_uri, not both')
  if (jwks !== undefined) return withRegistered(await readKeys(jwks))
  if (jwksUri) return { privateKeyJwt: 'required', jwksUri: requireJwksUri(jwksUri), keys: NO_KEYS }
  const keepsUri = jwksUri === undefined && client.jwksUri !== undefined
  if (client.privateKeyJwt === 'required' && (keepsUri || client.keys?.registered.length)) return {}
  throw invalid('pass the keys of the client as jwks, or their address as jwks_uri')
}

const NO_KEYS = { registered: [], fetched: undefined }

function withRegistered(registered: readonly StoredJwk[]): Partial<KeyAuthentication> {
  return { privateKeyJwt: 'required', jwksUri: undefined, keys: { registered, fetched: undefined } }
}

/** The settings of a client with a key; the inverse of `withKeySettings`. Undefined for another client. */
export function keySettingsOf({ privateKeyJwt, jwksUri, keys }: NewClient): KeySettings {
  if (privateKeyJwt === undefined) return {}
  const registered = keys?.registered ?? []
  const jwks = registered.length === 0 ? undefined : { keys: registered.map(sortMembers).toSorted(byKid) }
  return { authMethod: privateKeyJwt === 'required' ? 'private_key_jwt' : undefined, jwks, jwksUri }
}

/** @throws {AdministrationError} `invalid` */
export async function readKeys(jwks: unknown): Promise<readonly StoredJwk[]> {
  const read = await readUsableKeys(jwks)
  if (read.kind === 'refused') throw invalid(`jwks ${read.objection}`)
  return read.keys
}

function methodOfType({ type }: NewClient): 'client_secret' | 'none' {
  return type === 'public' ? 'none' : 'client_secret'
}

function requireMethodOfType(method: string, client: NewClient): void {
  if (method === methodOfType(client)) return
  const which =
    client.type === 'public' ? 'a public client has auth_method none' : 'a confidential client has a secret or keys'
  throw invalid(`auth_method cannot be ${method}: ${which}, and the type cannot be changed`)
}

function requireJwksUri(jwksUri: string): string {
  const objection = objectionToKeySetUrl(jwksUri)
  if (objection !== undefined) throw invalid(`jwks_uri ${objection}`)
  return jwksUri
}

/** One order, so that equal keys have equal documents. */
function sortMembers(jwk: StoredJwk): StoredJwk {
  return Object.fromEntries(Object.entries(jwk).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function byKid({ kid: one = '' }: StoredJwk, { kid: other = '' }: StoredJwk): number {
  return one < other ? -1 : 1
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
