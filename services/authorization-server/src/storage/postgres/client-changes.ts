import { scopesOf, type TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { nameKeys } from '@valetkey/sign-in-rules'
import { type AuditNote, defineChange, makeAudited } from './audited.js'
import { FIRST_GENERATION_OF_CLIENT } from './authorization-generation.js'
import { BRANDING_COLUMNS, BRANDING_PARAMETERS, brandingValues, SET_BRANDING } from './client-branding.js'
import type { ClientRegistration, NewClient } from './clients.js'

/** The version of a client that was read. A change based on it is refused if the client has been changed since. */
type ClientVersion = { clientId: string; version: string }

/**
 * Locks the client and gives its row a new version without changing it: of two changes based on the same version, one is
 * refused.
 */
const NEW_VERSION = `changed as (
  update clients set name = name where client_id = :clientId and xmin = :version::xid returning client_id)`

/** Whether all of these scopes exist. Locks them, so that none is deleted before the change is committed. */
const KNOWN_SCOPES = `
  locked_scopes as (select name from scopes where name = any (:addedScopes::text[]) order by name for key share),
  known as (select count(*) = cardinality(:addedScopes::text[]) as are_all from locked_scopes)`

/** Registers keys of the client in `changed`: an array of public keys with `kid` (RFC 7517). */
export const ADD_KEYS = `
  added_keys as (
    insert into client_keys as k (client_id, kid, jwk, created_at)
    select changed.client_id, given.jwk ->> 'kid', given.jwk, now()
    from changed cross join jsonb_array_elements(:keys::jsonb) as given (jwk)
    on conflict (client_id, kid) do update set jwk = excluded.jwk where k.jwk <> excluded.jwk)`

/**
 * Ends what the client in `changed` does not authenticate with any more: keys that are not in the array, fetched keys of another
 * `jwks_uri`, and the secrets of a client that has keys now.
 */
export const END_OTHER_CREDENTIALS = `
  removed_keys as (
    delete from client_keys k using changed where k.client_id = changed.client_id
      and k.kid not in (select given.jwk ->> 'kid' from jsonb_array_elements(:keys::jsonb) as given (jwk))),
  removed_sets as (
    delete from client_key_sets f using changed
    where f.client_id = changed.client_id and f.jwks_uri is distinct from :jwksUri::text),
  removed_secrets as (
    delete from client_secrets s using changed where s.client_id = changed.client_id and :privateKeyJwt::text is not null)`

/** Adds a secret to the client in `changed`; its expired secrets are deleted. */
export const ADD_SECRET = `
  deleted as (
    delete from client_secrets s using changed where s.client_id = changed.client_id and s.expires_at <= now()),
  added as (
    insert into client_secrets (client_id, secret_hash, created_at)
    select client_id, :secretHash::bytea, now() from changed)`

/** Deletes a secret of the client in `changed`. */
export const DELETE_SECRET = `
  deleted as (
    delete from client_secrets s using changed
    where s.client_id = changed.client_id and left(encode(s.secret_hash, 'hex'), 12) = :secretId)`

export function createClientChangeStore(database: Database) {
  return { ...changeClients(database), ...endClients(database), ...changeSecrets(database) }
}

export type ClientChangeStore = ReturnType<typeof createClientChangeStore>

const createClient = defineChange(
  'create_client',
  `${KNOWN_SCOPES},
  changed as (
    insert into clients (client_id, name, redirect_uris, required_scopes, optional_scopes, requires_pkce, requires_par,
      issues_refresh_tokens, consent, verified_at, access_token_ttl, refresh_token_idle_ttl, refresh_token_max_ttl,
      audiences, dpop_bound, rotates_refresh_tokens, profile, type, created_at, generation, name_keys, private_key_jwt, jwks_uri,
      ${BRANDING_COLUMNS})
    select :clientId, :name, :redirectUris::text[], :requiredScopes::text[], :optionalScopes::text[], :requiresPkce::boolean,
      :requiresPar::boolean, :issuesRefreshTokens::boolean, :consent, case when :verified::boolean then now() end,
      :accessTokenTtl::integer, :refreshTokenIdleTtl::integer, :refreshTokenMaxTtl::integer, :audiences::text[],
      :dpopBound::boolean, :rotatesRefreshTokens::boolean, :profile, :type, now(),
      ${FIRST_GENERATION_OF_CLIENT}, :nameKeys, :privateKeyJwt, :jwksUri, ${BRANDING_PARAMETERS}
    from known where known.are_all returning client_id, created_at),
  ${ADD_KEYS},
  secret as (
    insert into client_secrets (client_id, secret_hash, created_at)
    select client_id, :secretHash::bytea, now() from changed where :secretHash::bytea is not null)`,
  { result: 'select created_at from changed' }
)

const updateClient = defineChange(
  'update_client',
  `${KNOWN_SCOPES},
  changed as (
    update clients set name = :name, redirect_uris = :redirectUris, required_scopes = :requiredScopes,
      optional_scopes = :optionalScopes, requires_pkce = :requiresPkce, requires_par = :requiresPar, issues_refresh_tokens = :issuesRefreshTokens,
      consent = :consent, verified_at = case when :verified then coalesce(verified_at, now()) end,
      access_token_ttl = :accessTokenTtl, refresh_token_idle_ttl = :refreshTokenIdleTtl,
      refresh_token_max_ttl = :refreshTokenMaxTtl, audiences = :audiences, dpop_bound = :dpopBound,
      rotates_refresh_tokens = :rotatesRefreshTokens, profile = :profile,
      name_keys = :nameKeys, private_key_jwt = :privateKeyJwt, jwks_uri = :jwksUri, ${SET_BRANDING},
      reviewed = reviewed or redirect_uris <> :redirectUris
    from known where client_id = :clientId and xmin = :version::xid and known.are_all returning client_id),
  ${ADD_KEYS},
  ${END_OTHER_CREDENTIALS}`
)

function changeClients(database: Database) {
  return {
    /** The version of a client, and the time of Postgres when it was read. */
    async findVersion(clientId: string): Promise<{ version: string; readAt: Date } | undefined> {
      const rows = await database.query<{ version: string; read_at: Date }>({
        name: 'find_client_version',
        text: 'select xmin::text as version, now() as read_at from clients where client_id = $1',
        values: [clientId]
      })
      return rows.map((row) => ({ version: row.version, readAt: row.read_at }))[0]
    },

    /**
     * Creates a client and its first secret in one statement; a public client has no secret.
     * @returns when it was created; undefined if one of its scopes is not in the catalogue
     */
    async create(client: NewClient, secretHash: TokenHash | undefined, note: AuditNote): Promise<Date | undefined> {
      const values = { ...valuesOf(client), type: client.type, secretHash, addedScopes: scopesOf(client) }
      const statement = createClient({ ...values, nameKeys: nameKeys(client.name) }, note)
      return (await database.query<{ created_at: Date }>(statement))[0]?.created_at
    },

    /**
     * @param added scopes that the client did not have before
     * @returns false if the client has changed since `version`, or one of `added` is not in the catalogue
     */
    async update(
      { client, added }: { client: ClientRegistration; added: readonly string[] },
      version: string,
      note: AuditNote
    ): Promise<boolean> {
      const values = { ...valuesOf(client), version, addedScopes: added, nameKeys: nameKeys(client.name) }
      return makeAudited(database, updateClient(values, note))
    }
  }
}

const disableClient = defineChange(
  'disable_client',
  `changed as (
    update clients set disabled_at = now(), generation = generation + 1
    where client_id = :clientId and disabled_at is null returning client_id)`
)

const enableClient = defineChange(
  'enable_client',
  `changed as (
    update clients set disabled_at = null where client_id = :clientId and disabled_at is not null returning client_id)`
)

const deleteClient = defineChange(
  'delete_client',
  'changed as (delete from clients where client_id = :clientId returning client_id)'
)

function endClients(database: Database) {
  return {
    /** The new generation ends every token. @returns false if there is no enabled client with that id */
    async disable(clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, disableClient({ clientId }, note))
    },

    async enable(clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, enableClient({ clientId }, note))
    },

    /** Ends every token, because introspection joins the client. Also deletes secrets and remembered consents. */
    async remove(clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, deleteClient({ clientId }, note))
    }
  }
}

const addSecret = defineChange(
  'add_client_secret',
  `${NEW_VERSION},
  ending as (
    update client_secrets s set expires_at = least(s.expires_at, :othersUntil::timestamptz) from changed
    where s.client_id = changed.client_id and (s.expires_at is null or s.expires_at > now())),
  ${ADD_SECRET}`
)

const removeSecret = defineChange('remove_client_secret', `${NEW_VERSION}, ${DELETE_SECRET}`)

function changeSecrets(database: Database) {
  return {
    /**
     * Adds a secret. Live secrets expire at `othersUntil` at the latest; expired ones are deleted.
     * @param secret.othersUntil by Postgres's clock, which `findVersion` returns; undefined: they stay as they are
     * @returns false if the client has changed since that version
     */
    async addSecret(
      { clientId, version }: ClientVersion,
      { hash, othersUntil }: { hash: TokenHash; othersUntil: Date | undefined },
      note: AuditNote
    ): Promise<boolean> {
      return makeAudited(database, addSecret({ clientId, version, secretHash: hash, othersUntil }, note))
    },

    /** @returns false if the client has changed since that version */
    async removeSecret({ clientId, version }: ClientVersion, secretId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, removeSecret({ clientId, version, secretId }, note))
    }
  }
}

function valuesOf(client: NewClient) {
  return {
    clientId: client.clientId,
    name: client.name,
    redirectUris: client.redirectUris,
    requiredScopes: client.requiredScopes,
    optionalScopes: client.optionalScopes,
    requiresPkce: client.requiresPkce,
    requiresPar: client.requiresPushedRequests === true,
    issuesRefreshTokens: client.issuesRefreshTokens,
    consent: client.consent,
    verified: client.verified,
    accessTokenTtl: client.lifetimes?.accessToken,
    refreshTokenIdleTtl: client.lifetimes?.refreshTokenIdle,
    refreshTokenMaxTtl: client.lifetimes?.refreshTokenMax,
    audiences: client.audiences ?? [],
    privateKeyJwt: client.privateKeyJwt,
    jwksUri: client.jwksUri,
    keys: JSON.stringify(client.keys?.registered ?? []),
    dpopBound: client.dpopBound === true,
    rotatesRefreshTokens: client.keepsRefreshTokens !== true,
    profile: client.profile,
    ...brandingValues(client.branding)
  }
}
