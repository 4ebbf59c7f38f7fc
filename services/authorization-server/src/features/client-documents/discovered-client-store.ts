import type { Database } from '@valetkey/service-kit'
import { type AuditNote, createAudited, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { FIRST_GENERATION_OF_CLIENT } from '../../storage/postgres/authorization-generation.js'
import type { NewClient } from '../../storage/postgres/clients.js'

/** The row of a discovered client: what its document said at the last Allow. */
export type DiscoveredClientRow = Pick<NewClient, 'name' | 'redirectUris' | 'lifetimes'> & {
  version: string
  /** The last noted Allow is over an hour ago. */
  isNoteDue: boolean
}

type Row = {
  name: string
  redirect_uris: string[]
  refresh_token_max_ttl: number | null
  version: string
  is_note_due: boolean
}

const createClient = defineChange(
  'create_discovered_client',
  `changed as (
    insert into clients (client_id, origin, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, refresh_token_max_ttl, created_at, last_allowed_at, generation)
    values (:clientId, 'discovered', :name, 'public', :redirectUris, '{}', '{}', true, true, 'ask', :refreshTokenMax, now(),
      now(), ${FIRST_GENERATION_OF_CLIENT}) returning client_id)`
)

const updateClient = defineChange(
  'update_discovered_client',
  `changed as (
    update clients set name = :name, redirect_uris = :redirectUris, refresh_token_max_ttl = :refreshTokenMax,
      last_allowed_at = now()
    where client_id = :clientId and origin = 'discovered' and xmin = :version::xid returning client_id)`
)

function valuesOf({ clientId, name, redirectUris, lifetimes }: NewClient) {
  return { clientId, name, redirectUris, refreshTokenMax: lifetimes?.refreshTokenMax }
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
        text: `select name, redirect_uris, refresh_token_max_ttl, xmin::text as version,
            last_allowed_at is null or last_allowed_at < now() - interval '1 hour' as is_note_due
          from clients where client_id = $1`,
        values: [clientId]
      })
      return rows.map(({ name, redirect_uris: redirectUris, refresh_token_max_ttl: max, version, is_note_due }) => {
        const lifetimes = { ...NO_LIFETIMES, refreshTokenMax: max ?? undefined }
        return { name, redirectUris, version, lifetimes, isNoteDue: is_note_due }
      })[0]
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
