import { scopesOf, type TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { nameKeys } from '@valetkey/sign-in-rules'
import { type AuditNote, audited, makeAudited } from './audited.js'
import { FIRST_GENERATION_OF_CLIENT } from './authorization-generation.js'
import type { ClientRegistration, NewClient } from './clients.js'

/** The version of a client that was read. A change based on it is refused if the client has been changed since. */
type ClientVersion = { clientId: string; version: string }

/**
 * Locks the client and gives its row a new version without changing it: of two changes based on the same version, one is
 * refused.
 */
const NEW_VERSION = `changed as (
  update clients set name = name where client_id = $1 and xmin = $2::xid returning client_id)`

/** Whether all of these scopes exist. Locks them, so that none is deleted before the change is committed. */
const knownScopes = (names: string) => `
  locked_scopes as (select name from scopes where name = any (${names}::text[]) order by name for key share),
  known as (select count(*) = cardinality(${names}::text[]) as are_all from locked_scopes)`

/** Adds a secret with the hash of the parameter to the client in `changed`; its expired secrets are deleted. */
export const insertSecret = (hash: string) => `
  deleted as (
    delete from client_secrets s using changed where s.client_id = changed.client_id and s.expires_at <= now()),
  added as (
    insert into client_secrets (client_id, secret_hash, created_at) select client_id, ${hash}::bytea, now() from changed)`

/** Deletes the secret with the id of the parameter from the client in `changed`. */
export const deleteSecret = (secretId: string) => `
  deleted as (
    delete from client_secrets s using changed
    where s.client_id = changed.client_id and left(encode(s.secret_hash, 'hex'), 12) = ${secretId})`

export function createClientChangeStore(database: Database) {
  return { ...changeClients(database), ...endClients(database), ...changeSecrets(database) }
}

export type ClientChangeStore = ReturnType<typeof createClientChangeStore>

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
      const parts = `${knownScopes('$21')}, changed as (
          insert into clients (client_id, name, redirect_uris, required_scopes, optional_scopes, requires_pkce,
            issues_refresh_tokens, consent, verified_at, access_token_ttl, refresh_token_idle_ttl, refresh_token_max_ttl,
            audiences, home_page, publisher, privacy_policy, terms, logo, type, created_at, generation, name_keys)
          select $1, $2, $3::text[], $4::text[], $5::text[], $6::boolean, $7::boolean, $8,
            case when $9::boolean then now() end, $10::integer, $11::integer, $12::integer,
            $13::text[], $14, $15, $16, $17, $18, $19, now(), ${FIRST_GENERATION_OF_CLIENT}, $22
          from known where known.are_all returning client_id, created_at
        ), secret as (
          insert into client_secrets (client_id, secret_hash, created_at)
          select client_id, $20::bytea, now() from changed where $20::bytea is not null)`
      const settings = settingsOf(client)
      const values = [client.clientId, ...settings, client.type, secretHash, scopesOf(client), nameKeys(client.name)]
      const change = { name: 'create_client', parts, result: 'select created_at from changed', values }
      return (await database.query<{ created_at: Date }>(audited(change, note)))[0]?.created_at
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
      const parts = `${knownScopes('$20')}, changed as (
          update clients set name = $2, redirect_uris = $3, required_scopes = $4, optional_scopes = $5, requires_pkce = $6,
            issues_refresh_tokens = $7, consent = $8,
            verified_at = case when $9 then coalesce(verified_at, now()) end,
            access_token_ttl = $10, refresh_token_idle_ttl = $11, refresh_token_max_ttl = $12, audiences = $13,
            home_page = $14, publisher = $15, privacy_policy = $16, terms = $17, logo = $18, name_keys = $21,
            reviewed = reviewed or redirect_uris <> $3
          from known where client_id = $1 and xmin = $19::xid and known.are_all returning client_id)`
      const values = [client.clientId, ...settingsOf(client), version, added, nameKeys(client.name)]
      return makeAudited(database, { name: 'update_client', parts, values }, note)
    }
  }
}

function endClients(database: Database) {
  return {
    /** The new generation ends every token. @returns false if there is no enabled client with that id */
    async disable(clientId: string, note: AuditNote): Promise<boolean> {
      const parts = `changed as (
          update clients set disabled_at = now(), generation = generation + 1
          where client_id = $1 and disabled_at is null returning client_id)`
      return makeAudited(database, { name: 'disable_client', parts, values: [clientId] }, note)
    },

    async enable(clientId: string, note: AuditNote): Promise<boolean> {
      const parts = `changed as (
          update clients set disabled_at = null where client_id = $1 and disabled_at is not null returning client_id)`
      return makeAudited(database, { name: 'enable_client', parts, values: [clientId] }, note)
    },

    /** Ends every token, because introspection joins the client. Also deletes secrets and remembered consents. */
    async remove(clientId: string, note: AuditNote): Promise<boolean> {
      const parts = 'changed as (delete from clients where client_id = $1 returning client_id)'
      return makeAudited(database, { name: 'delete_client', parts, values: [clientId] }, note)
    }
  }
}

function changeSecrets(database: Database) {
  return {
    /**
     * Adds a secret. Live secrets expire at `othersUntil` at the latest; expired ones are deleted.
     * @param secret.othersUntil by Postgres's clock, which `findVersion` returns; undefined: they stay as they are
     * @returns false if the client has changed since that version
     */
    async addSecret(
      { clientId, version }: ClientVersion,
      secret: { hash: TokenHash; othersUntil: Date | undefined },
      note: AuditNote
    ): Promise<boolean> {
      const parts = `${NEW_VERSION},
        ending as (
          update client_secrets s set expires_at = least(s.expires_at, $4::timestamptz) from changed
          where s.client_id = changed.client_id and (s.expires_at is null or s.expires_at > now())),
        ${insertSecret('$3')}`
      const values = [clientId, version, secret.hash, secret.othersUntil]
      return makeAudited(database, { name: 'add_client_secret', parts, values }, note)
    },

    /** @returns false if the client has changed since that version */
    async removeSecret({ clientId, version }: ClientVersion, secretId: string, note: AuditNote): Promise<boolean> {
      const parts = `${NEW_VERSION}, ${deleteSecret('$3')}`
      return makeAudited(database, { name: 'remove_client_secret', parts, values: [clientId, version, secretId] }, note)
    }
  }
}

/** Parameters $2 to $18 of `create` and `update`. */
function settingsOf(client: NewClient): unknown[] {
  return [
    client.name,
    client.redirectUris,
    client.requiredScopes,
    client.optionalScopes,
    client.requiresPkce,
    client.issuesRefreshTokens,
    client.consent,
    client.verified,
    client.lifetimes?.accessToken,
    client.lifetimes?.refreshTokenIdle,
    client.lifetimes?.refreshTokenMax,
    client.audiences ?? [],
    client.branding.homePage,
    client.branding.publisher,
    client.branding.privacyPolicy,
    client.branding.terms,
    client.branding.logo
  ]
}
