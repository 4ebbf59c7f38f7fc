import type { Database } from '@valetkey/service-kit'
import { type AuditNote, createAudited, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { FIRST_GENERATION_OF_CLIENT } from '../../storage/postgres/authorization-generation.js'
import { KEY_COLUMNS, type KeyRow, toKeyAuthentication } from '../../storage/postgres/client-keys.js'
import type { NewClient } from '../../storage/postgres/clients.js'

/** What a document says. */
export type DescribedClient = Pick<
  NewClient,
  'name' | 'redirectUris' | 'lifetimes' | 'privateKeyJwt' | 'jwksUri' | 'assertionAlgorithm' | 'keys' | 'dpopBound'
>

/** The row of a discovered client: what its document said at the last Allow. */
export type DiscoveredClientRow = DescribedClient & {
  version: string
  /** The last noted Allow is over an hour ago. */
  isNoteDue: boolean
}

type Row = KeyRow & {
  name: string
  redirect_uris: string[]
  refresh_token_max_ttl: number | null
  dpop_bound: boolean
  version: string
  is_note_due: boolean
}

// A fetch for an unknown `kid` can be newer than the document of this Allow.
const SAVE_KEYS = `
  saved_keys as (
    insert into client_key_sets as f (client_id, jwks_uri, keys, fetched_at, fresh_until)
    select changed.client_id, :jwksUri::text, :keys::jsonb, :keysFetchedAt::timestamptz, :keysFetchedAt::timestamptz
    from changed where :keys::jsonb is not null
    on conflict (client_id) do update set jwks_uri = excluded.jwks_uri, keys = excluded.keys, fetched_at = excluded.fetched_at,
      fresh_until = excluded.fresh_until
    where f.fetched_at < excluded.fetched_at or f.jwks_uri is distinct from excluded.jwks_uri)`

const createClient = defineChange(
  'create_discovered_client',
  `changed as (
    insert into clients (client_id, origin, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, refresh_token_max_ttl, created_at, last_allowed_at, generation, private_key_jwt, jwks_uri,
      assertion_algorithm, dpop_bound)
    values (:clientId, 'discovered', :name, 'public', :redirectUris, '{}', '{}', true, true, 'ask', :refreshTokenMax, now(),
      now(), ${FIRST_GENERATION_OF_CLIENT}, :privateKeyJwt, :jwksUri, :assertionAlgorithm, :dpopBound) returning client_id),
  ${SAVE_KEYS}`
)

const updateClient = defineChange(
  'update_discovered_client',
  `changed as (
    update clients set name = :name, redirect_uris = :redirectUris, refresh_token_max_ttl = :refreshTokenMax,
      private_key_jwt = :privateKeyJwt, jwks_uri = :jwksUri, assertion_algorithm = :assertionAlgorithm, dpop_bound = :dpopBound,
      last_allowed_at = now()
    where client_id = :clientId and origin = 'discovered' and xmin = :version::xid returning client_id),
  ${SAVE_KEYS},
  removed_keys as (
    delete from client_key_sets f using changed where f.client_id = changed.client_id and :keys::jsonb is null)`
)

function valuesOf({ clientId, name, redirectUris, lifetimes, keys, ...client }: NewClient) {
  const { privateKeyJwt, jwksUri, assertionAlgorithm, dpopBound = false } = client
  return {
    ...{ clientId, name, redirectUris, refreshTokenMax: lifetimes?.refreshTokenMax },
    ...{ privateKeyJwt, jwksUri, assertionAlgorithm, dpopBound },
    keys: keys?.fetched && JSON.stringify(keys.fetched.keys),
    keysFetchedAt: keys?.fetched?.at
  }
}

/**
 * Clients that users allowed and no operator registered. Their scopes are not stored: those of the catalogue count at each
 * request.
 */
export function createDiscoveredClientStore(database: Database) {
  return {
    /** @returns undefined if there is no row */
    async findVersion(clientId: string): Promise<DiscoveredClientRow | undefined> {
      const rows = await database.query<Row>({
        name: 'find_discovered_client',
        text: `select name, redirect_uris, refresh_token_max_ttl, dpop_bound, ${KEY_COLUMNS}, xmin::text as version,
            last_allowed_at is null or last_allowed_at < now() - interval '1 hour' as is_note_due
          from clients where client_id = $1`,
        values: [clientId]
      })
      return rows.map((row) => ({
        name: row.name,
        redirectUris: row.redirect_uris,
        lifetimes: { ...NO_LIFETIMES, refreshTokenMax: row.refresh_token_max_ttl ?? undefined },
        ...toKeyAuthentication(row),
        dpopBound: row.dpop_bound || undefined,
        version: row.version,
        isNoteDue: row.is_note_due
      }))[0]
    },

    /** @returns false if there is a row */
    async create(client: NewClient, note: AuditNote): Promise<boolean> {
      return (await createAudited(database, createClient(valuesOf(client), note))).length > 0
    },

    /** @returns false if the row has changed since `version`, or belongs to a registered client */
    async update(client: NewClient, version: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, updateClient({ ...valuesOf(client), version }, note))
    },

    /** Notes an Allow, so that housekeeping keeps the row for its code. @returns false if there is no such row */
    async noteAllowed(clientId: string): Promise<boolean> {
      const rows = await database.query({
        name: 'note_discovered_client_allowed',
        text: `update clients set last_allowed_at = now() where client_id = $1 and origin = 'discovered' returning client_id`,
        values: [clientId]
      })
      return rows.length > 0
    }
  }
}

export type DiscoveredClientStore = ReturnType<typeof createDiscoveredClientStore>

const NO_LIFETIMES = { accessToken: undefined, refreshTokenIdle: undefined }
