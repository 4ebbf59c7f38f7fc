import type { Client, TokenHash } from '@valetkey/oauth-protocol'
import { type Database, defineStatement } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../../storage/postgres/audited.js'
import { ADD_SECRET, DELETE_SECRET } from '../../../storage/postgres/client-changes.js'
import { ACTING, type AppVersion, type OwnerSession } from '../app-change-sql.js'

/** A client that an operator registered, for one of its owners. */
export type OwnedClient = {
  clientId: string
  name: string
  type: Client['type']
  /** It authenticates with keys (`private_key_jwt`), so it has no secret. */
  usesKeys: boolean
  redirectUris: readonly string[]
  requiredScopes: readonly string[]
  optionalScopes: readonly string[]
  /** SHA-256 of its logo. */
  logo: string | undefined
  disabled: boolean
  changesSecrets: boolean
  /** Changes with every change of the client and its owners. */
  version: string
}

type OwnedRow = Pick<OwnedClient, 'name' | 'type' | 'disabled' | 'version'> & {
  client_id: string
  uses_keys: boolean
  redirect_uris: string[]
  required_scopes: string[]
  optional_scopes: string[]
  logo: string | null
  changes_secrets: boolean
}

const OWNED =
  `select c.client_id, c.name, c.type, c.private_key_jwt is not null as uses_keys, c.redirect_uris, c.required_scopes,
    c.optional_scopes, c.logo, c.disabled_at is not null as disabled, o.changes_secrets, c.xmin::text as version
  from client_owners o join clients c using (client_id)` as const

const listOwned = defineStatement(
  'list_owned_clients',
  `${OWNED} where o.user_id = :userId order by lower(c.name), c.client_id`
)

const readUsage = defineStatement(
  'find_usage_of_client_owners',
  `select exists (select from client_owners where user_id = :userId) as is_owner,
    exists (select from client_owners) as is_used`
)

const findOwned = defineStatement('find_owned_client', `${OWNED} where o.user_id = :userId and c.client_id = :clientId`)

/**
 * The client of an owner who may change its secrets, with a new version. An operator who takes the right away at the same moment
 * changes the version, too.
 */
const CHANGED_BY_OWNER = `${ACTING},
  changed as (
    update clients c set name = c.name from acting
    where c.client_id = :clientId and c.xmin = :version::xid and exists (
      select from client_owners o where o.client_id = c.client_id and o.user_id = acting.user_id and o.changes_secrets)
    returning c.client_id)` as const

const addSecret = defineChange('add_secret_of_owned_client', `${CHANGED_BY_OWNER}, ${ADD_SECRET}`)

const removeSecret = defineChange('remove_secret_of_owned_client', `${CHANGED_BY_OWNER}, ${DELETE_SECRET}`)

const NO_USE = { isOwner: false, isUsed: false }

/** Clients that operators registered, as their owners see and change them. */
export function createOwnedClientStore(database: Database) {
  return {
    /** By name. */
    async list(userId: string): Promise<OwnedClient[]> {
      return (await database.query<OwnedRow>(listOwned({ userId }))).map(toOwnedClient)
    },

    /** Whether the user is an owner, and whether any client has one. */
    async usage(userId: string): Promise<{ isOwner: boolean; isUsed: boolean }> {
      const rows = await database.query<{ is_owner: boolean; is_used: boolean }>(readUsage({ userId }))
      return rows.map(({ is_owner: isOwner, is_used: isUsed }) => ({ isOwner, isUsed }))[0] ?? NO_USE
    },

    /** @returns undefined if there is no such client, or the user is not one of its owners */
    async findOwn(userId: string, clientId: string): Promise<OwnedClient | undefined> {
      return (await database.query<OwnedRow>(findOwned({ userId, clientId }))).map(toOwnedClient)[0]
    },

    /** @returns false if the client has changed since it was read, the owner lost the right, or the session has ended */
    async add(session: OwnerSession, client: AppVersion, hash: TokenHash, note: AuditNote): Promise<boolean> {
      const { clientId, version } = client
      return makeAudited(database, addSecret({ ...session, clientId, version, secretHash: hash }, note))
    },

    /** Ends the secret at once. @returns as `add` */
    async remove(session: OwnerSession, client: AppVersion, secretId: string, note: AuditNote): Promise<boolean> {
      const { clientId, version } = client
      return makeAudited(database, removeSecret({ ...session, clientId, version, secretId }, note))
    }
  }
}

export type OwnedClientStore = ReturnType<typeof createOwnedClientStore>

function toOwnedClient(row: OwnedRow): OwnedClient {
  return {
    clientId: row.client_id,
    name: row.name,
    type: row.type,
    usesKeys: row.uses_keys,
    redirectUris: row.redirect_uris,
    requiredScopes: row.required_scopes,
    optionalScopes: row.optional_scopes,
    logo: row.logo ?? undefined,
    disabled: row.disabled,
    changesSecrets: row.changes_secrets,
    version: row.version
  }
}
