import type { Client, ClientLifetimes } from '@valetkey/oauth-protocol'
import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'
import { BRANDING_COLUMNS, type BrandingRow, type ClientBranding, toBranding } from './client-branding.js'
import { KEY_COLUMNS, type KeyAuthentication, type KeyRow, toKeyAuthentication } from './client-keys.js'
import type { Page } from './page.js'
import { usableBy } from './usable-by.js'

/** A stored client. */
export type ClientRegistration = NewClient & { createdAt: Date }

/** A client with the fields that only operators see, whether it is stored or not. */
export type NewClient = Client &
  Partial<KeyAuthentication> & {
    disabled: boolean
    /** An operator has verified its owner. */
    verified: boolean
    /** A user registered it. */
    isOfDeveloper?: boolean | undefined
    /** An app of a user: only its owners and testers may use it. */
    isUnpublished?: boolean | undefined
    /** An app of a user: no operator has seen its redirect URIs or verified its owner. */
    isUnreviewed?: boolean | undefined
    branding: ClientBranding
  }

/** A client with all of its secrets, live or expired. */
export type ClientRecord = {
  client: ClientRegistration
  secrets: readonly { hash: Buffer; expiresAt: Date | undefined }[]
}

/** Registered by an operator, described by its metadata document and allowed by a user, or registered by a user. */
export type ClientOrigin = 'registered' | 'discovered' | 'developer'

type ClientRow = BrandingRow &
  KeyRow & {
    client_id: string
    name: string
    type: Client['type']
    redirect_uris: string[]
    required_scopes: string[]
    optional_scopes: string[]
    requires_pkce: boolean
    requires_par: boolean
    issues_refresh_tokens: boolean
    consent: Client['consent']
    created_at: Date
    disabled_at: Date | null
    verified_at: Date | null
    access_token_ttl: number | null
    refresh_token_idle_ttl: number | null
    refresh_token_max_ttl: number | null
    audiences: string[]
    origin: ClientOrigin
    published: boolean
    reviewed: boolean
    dpop_bound: boolean
    rotates_refresh_tokens: boolean
    profile: 'fapi2' | null
  }

const COLUMNS = `client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce, requires_par,
  issues_refresh_tokens, consent, created_at, disabled_at, verified_at, access_token_ttl, refresh_token_idle_ttl, refresh_token_max_ttl,
  audiences, origin, published, reviewed, dpop_bound, rotates_refresh_tokens, profile, ${BRANDING_COLUMNS}, ${KEY_COLUMNS}`

export function createClientStore(database: Database) {
  return { ...listClients(database), ...findClients(database) }
}

export type ClientStore = ReturnType<typeof createClientStore>

const listAfter = defineStatement(
  'list_clients_after',
  `select ${COLUMNS} from clients where client_id > :after order by client_id limit :limit`
)

const listOfOrigin = defineStatement(
  'list_clients_of_origin_after',
  `select ${COLUMNS} from clients where client_id > :after and origin = :origin order by client_id limit :limit`
)

function listClients(database: Database) {
  return {
    async list(): Promise<ClientRegistration[]> {
      const rows = await database.query<ClientRow>({
        name: 'list_clients',
        text: `select ${COLUMNS} from clients order by created_at, client_id`,
        values: []
      })
      return rows.map(toRegistration)
    },

    /** Lists clients by id. @param page.after the last id of the previous page; @param origin undefined for all */
    async listPage({ after = '', limit }: Page, origin?: ClientOrigin): Promise<ClientRegistration[]> {
      const page = origin === undefined ? listAfter({ after, limit }) : listOfOrigin({ after, limit, origin })
      return (await database.query<ClientRow>(page)).map(toRegistration)
    },

    /** Lists clients for the registry, which compares the expiry of secrets at each lookup. */
    async listWithSecrets(clientIds: readonly string[] | 'all'): Promise<ClientRecord[]> {
      const isAll = clientIds === 'all'
      const rows = await database.query<ClientRow & { hashes: Buffer[]; expiries: (Date | null)[] }>({
        name: isAll ? 'list_clients_with_secrets' : 'list_some_clients_with_secrets',
        text: `select ${COLUMNS}, hashes, expiries
          from clients cross join lateral (
            select coalesce(array_agg(s.secret_hash order by s.secret_hash), '{}') as hashes,
              coalesce(array_agg(s.expires_at order by s.secret_hash), '{}') as expiries
            from client_secrets s where s.client_id = clients.client_id
          ) as secrets
          ${isAll ? '' : 'where client_id = any ($1)'}`,
        values: isAll ? [] : [clientIds],
        // All rows are read in the background; no request waits for them.
        ...(isAll && { withinMs: LONG_STATEMENT_MS })
      })
      return rows.map((row) => ({
        client: toRegistration(row),
        secrets: row.hashes.map((hash, index) => ({ hash, expiresAt: row.expiries[index] ?? undefined }))
      }))
    }
  }
}

function findClients(database: Database) {
  return {
    async find(clientId: string): Promise<ClientRegistration | undefined> {
      const rows = await database.query<ClientRow>({
        name: 'find_client',
        text: `select ${COLUMNS} from clients where client_id = $1`,
        values: [clientId]
      })
      return rows.map(toRegistration)[0]
    },

    /** Whether the user may use the client before it is published. */
    async isUsableBy(userId: string, clientId: string): Promise<boolean> {
      const rows = await database.query({
        name: 'may_test_app',
        text: `select from users u cross join clients c where u.user_id = $1 and c.client_id = $2 and ${usableBy('u.user_id')}`,
        values: [userId, clientId]
      })
      return rows.length > 0
    },

    /** An enabled client with the hashes of its live secrets, for client authentication. */
    async findWithSecrets(
      clientId: string
    ): Promise<{ client: ClientRegistration; secretHashes: Buffer[] } | undefined> {
      const rows = await database.query<ClientRow & { secret_hashes: Buffer[] }>({
        name: 'find_client_with_secrets',
        text: `select ${COLUMNS}, array(
            select s.secret_hash from client_secrets s
            where s.client_id = clients.client_id and (s.expires_at is null or s.expires_at > now())
          ) as secret_hashes
          from clients where client_id = $1 and disabled_at is null`,
        values: [clientId]
      })
      return rows.map((row) => ({ client: toRegistration(row), secretHashes: row.secret_hashes }))[0]
    }
  }
}

function toRegistration(row: ClientRow): ClientRegistration {
  return {
    clientId: row.client_id,
    name: row.name,
    type: row.type,
    redirectUris: row.redirect_uris,
    requiredScopes: row.required_scopes,
    optionalScopes: row.optional_scopes,
    requiresPkce: row.requires_pkce,
    requiresPushedRequests: row.requires_par || undefined,
    issuesRefreshTokens: row.issues_refresh_tokens,
    consent: row.consent,
    createdAt: row.created_at,
    disabled: row.disabled_at !== null,
    verified: row.verified_at !== null,
    branding: toBranding(row),
    lifetimes: toLifetimes(row),
    audiences: row.audiences.length === 0 ? undefined : row.audiences,
    dpopBound: row.dpop_bound || undefined,
    keepsRefreshTokens: !row.rotates_refresh_tokens || undefined,
    profile: row.profile ?? undefined,
    isDiscovered: row.origin === 'discovered' || undefined,
    isOfDeveloper: row.origin === 'developer' || undefined,
    isUnpublished: !row.published || undefined,
    isUnreviewed: (!row.reviewed && row.verified_at === null) || undefined,
    ...toKeyAuthentication(row)
  }
}

function toLifetimes(row: ClientRow): ClientLifetimes | undefined {
  const lifetimes = {
    accessToken: row.access_token_ttl ?? undefined,
    refreshTokenIdle: row.refresh_token_idle_ttl ?? undefined,
    refreshTokenMax: row.refresh_token_max_ttl ?? undefined
  }
  return Object.values(lifetimes).every((lifetime) => lifetime === undefined) ? undefined : lifetimes
}
