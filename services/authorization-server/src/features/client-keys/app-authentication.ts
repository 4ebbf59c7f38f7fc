import { createHash } from 'node:crypto'
import type { FetchedKeys } from '../../storage/postgres/client-keys.js'
import type { ClientStore } from '../../storage/postgres/clients.js'
import type { ClientKey, ClientKeyStore } from './client-key-store.js'

/**
 * How a confidential app authenticates: with secrets, with registered keys, or with keys at an address.
 * @property profile an operator put the app under it
 */
export type AppAuthentication = { profile?: 'fapi2' | undefined } & (
  | { kind: 'secret' }
  | { kind: 'keys'; keys: readonly ClientKey[] }
  | { kind: 'address'; jwksUri: string; fetched: FetchedKeys | undefined }
)

export type AuthenticationReading = {
  clients: Pick<ClientStore, 'find'>
  keys: Pick<ClientKeyStore, 'list'>
}

/** @returns undefined if there is no such app, or it is public */
export async function readAppAuthentication(
  clientId: string,
  { clients, keys }: AuthenticationReading
): Promise<AppAuthentication | undefined> {
  const [client, registered] = await Promise.all([clients.find(clientId), keys.list(clientId)])
  if (client === undefined || client.type === 'public') return undefined
  const { privateKeyJwt, jwksUri, profile } = client
  if (privateKeyJwt === undefined) return { kind: 'secret' }
  if (jwksUri === undefined) return { kind: 'keys', keys: registered, profile }
  return { kind: 'address', jwksUri, fetched: client.keys?.fetched, profile }
}

/** What a page shows. A form with another value was shown before a change. */
export function knownAuthentication(shown: AppAuthentication): string {
  return createHash('sha256')
    .update(JSON.stringify(membersOf(shown)))
    .digest('base64url')
}

function membersOf(shown: AppAuthentication): readonly unknown[] {
  switch (shown.kind) {
    case 'secret':
      return [shown.kind]
    case 'keys':
      return [shown.kind, ...shown.keys.map(({ kid }) => kid).toSorted()]
    case 'address':
      return [shown.kind, shown.jwksUri]
  }
}

/** The method and its keys, for an audit entry. */
export function authenticationDocument(authentication: AppAuthentication) {
  switch (authentication.kind) {
    case 'secret':
      return { auth_method: 'client_secret' }
    case 'keys':
      return { auth_method: 'private_key_jwt', keys: authentication.keys.map(({ jwk }) => jwk) }
    case 'address':
      return { auth_method: 'private_key_jwt', jwks_uri: authentication.jwksUri }
  }
}
