import type { Client } from '@valetkey/oauth-protocol'

/** A public key (RFC 7517) with a `kid`. */
export type StoredJwk = Readonly<Record<string, string>>

/** A JWK Set (RFC 7517 §5); its keys need not be valid. */
export type JwkSet = { keys: readonly object[] }

/** The public keys of a client that has some. */
type ClientKeys = {
  /** Registered with the client. */
  registered: readonly StoredJwk[]
  /** Fetched from its `jwks_uri`, or of its metadata document. Undefined: never. */
  fetched: FetchedKeys | undefined
}

/** @property freshUntil after this, a registered client's keys are fetched again */
export type FetchedKeys = { keys: readonly StoredJwk[]; at: Date; freshUntil: Date }

/** How a client authenticates with a key. */
export type KeyAuthentication = {
  privateKeyJwt: Client['privateKeyJwt']
  /** Where its keys are; undefined: they are registered. */
  jwksUri: string | undefined
  /** The only algorithm that it signs with; undefined: any of its keys. */
  assertionAlgorithm: string | undefined
  keys: ClientKeys | undefined
}

type Times = { at: number; fresh_until: number }

export type KeyRow = {
  private_key_jwt: 'required' | 'allowed' | null
  jwks_uri: string | null
  assertion_algorithm: string | null
  keys: { registered: StoredJwk[]; fetched: ({ keys: StoredJwk[] } & Times) | null } | null
}

/** The columns of `KeyRow`. Of a client without a key, no other table is read. */
export const KEY_COLUMNS = `private_key_jwt, jwks_uri, assertion_algorithm,
  case when private_key_jwt is not null then jsonb_build_object(
    'registered', (select coalesce(jsonb_agg(k.jwk order by k.created_at, k.kid), '[]') from client_keys k
      where k.client_id = clients.client_id),
    'fetched', (select jsonb_build_object('keys', f.keys, 'at', extract(epoch from f.fetched_at) * 1000,
        'fresh_until', extract(epoch from f.fresh_until) * 1000)
      from client_key_sets f
      where f.client_id = clients.client_id and f.jwks_uri is not distinct from clients.jwks_uri)
  ) end as keys`

/** Undefined for each member of a client without a key. */
export function toKeyAuthentication(row: KeyRow): KeyAuthentication | undefined {
  if (row.private_key_jwt === null) return undefined
  return {
    privateKeyJwt: row.private_key_jwt,
    jwksUri: row.jwks_uri ?? undefined,
    assertionAlgorithm: row.assertion_algorithm ?? undefined,
    keys: row.keys === null ? undefined : toKeys(row.keys)
  }
}

function toKeys({ registered, fetched }: NonNullable<KeyRow['keys']>): ClientKeys {
  if (fetched === null) return { registered, fetched: undefined }
  const { keys, at, fresh_until: freshUntil } = fetched
  return { registered, fetched: { keys, at: new Date(at), freshUntil: new Date(freshUntil) } }
}
