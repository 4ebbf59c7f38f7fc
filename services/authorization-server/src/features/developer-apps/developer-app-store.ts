import type { Client } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { BRANDING_COLUMNS, type BrandingRow, toBranding } from '../../storage/postgres/client-branding.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { Page } from '../../storage/postgres/page.js'
import { countApps, WAITS } from './app-count-store.js'
import { IS_OPEN_INVITATION } from './app-invitation-sql.js'

/** What operators approve. */
export type AppSettings = Pick<NewClient, 'name' | 'redirectUris' | 'requiredScopes' | 'optionalScopes' | 'branding'>

/**
 * `draft`: works for its owners and testers. `requested`: so does this, and an operator was asked to approve it. `approved`: works
 * for all users. `disabled`: works for no user until an operator enables it.
 */
type AppState = 'draft' | 'requested' | 'approved' | 'disabled'

/** An app that a user registered, for its owners and for operators. */
export type DeveloperApp = {
  clientId: string
  type: Client['type']
  /** It authenticates with keys (`private_key_jwt`), so it has no secret. */
  usesKeys: boolean
  state: AppState
  /** An operator has approved it, or approval is not required. A disabled app can be published. */
  isPublished: boolean
  /** The settings in effect. */
  settings: AppSettings
  /** A change of an approved app that waits for approval, or was refused. */
  pending: AppSettings | undefined
  /** The time since which the app or its pending change waits for approval. */
  requestedAt: Date | undefined
  decidedAt: Date | undefined
  /** Why an operator refused the last request; undefined after a new request. */
  refusal: string | undefined
  /** Raised by each change of what operators approve. */
  revision: number
  /** Changes with every change of the app, its client, its owners and its testers. */
  version: string
  /** An operator has verified who runs it. */
  verified: boolean
  createdAt: Date
  owners: readonly AppOwner[]
  /** User names as typed; such a user need not exist, or may be another than the one who was added. */
  testers: readonly string[]
  invitations: readonly AppInvitation[]
}

type AppOwner = { userId: string; username: string; disabled: boolean }

/** An invitation to become an owner. @property username as typed; such a user need not exist */
type AppInvitation = { username: string; invitedBy: string; transfers: boolean; invitedAt: Date }

/** @property requestedAt since when the app or its pending change waits for approval */
export type AppSummary = Pick<DeveloperApp, 'clientId' | 'state' | 'requestedAt' | 'refusal' | 'revision'> & {
  name: string
  hasPendingChange: boolean
  /** As in `AppSettings.branding`. */
  logo: string | undefined
}

/** An invitation for the user who is invited. @property invitedBy user name */
export type ReceivedInvitation = { clientId: string; name: string; invitedBy: string; transfers: boolean }

export function createDeveloperAppStore(database: Database) {
  return { ...listApps(database), ...findApps(database), ...countApps(database) }
}

export type DeveloperAppStore = ReturnType<typeof createDeveloperAppStore>

function listApps(database: Database) {
  return {
    /** Apps of which the user is an owner, by name. */
    async list(userId: string): Promise<AppSummary[]> {
      const rows = await database.query<SummaryRow>({
        name: 'list_own_apps',
        text: `select ${SUMMARY} from app_owners o join developer_apps a using (client_id) join clients c using (client_id)
          where o.user_id = $1 order by lower(c.name), client_id`,
        values: [userId]
      })
      return rows.map(toSummary)
    },

    /** Lists apps for operators, by id. @param waiting only apps that wait for approval, or whose change does */
    async listPage({ after = '', limit }: Page, waiting: boolean): Promise<AppSummary[]> {
      const rows = await database.query<SummaryRow>({
        name: waiting ? 'list_waiting_apps' : 'list_apps',
        text: `select ${SUMMARY} from developer_apps a join clients c using (client_id)
          where client_id > $1 ${waiting ? `and ${WAITS}` : ''} order by client_id limit $2`,
        values: [after, limit]
      })
      return rows.map(toSummary)
    },

    async listInvitations(userId: string): Promise<ReceivedInvitation[]> {
      const rows = await database.query<{ client_id: string; name: string; invited_by: string; transfers: boolean }>({
        name: 'list_app_invitations',
        text: `select i.client_id, c.name, u.username as invited_by, i.transfers
          from app_invitations i join clients c using (client_id) join users u on u.user_id = i.invited_by
          where i.user_id = $1 and ${IS_OPEN_INVITATION} order by i.invited_at, i.client_id limit 100`,
        values: [userId]
      })
      return rows.map(({ invited_by: invitedBy, client_id: clientId, name, transfers }) => {
        return { clientId, name, invitedBy, transfers }
      })
    }
  }
}

function findApps(database: Database) {
  return {
    /** @returns undefined if there is no such app, or the user is not one of its owners */
    async findOwn(userId: string, clientId: string): Promise<DeveloperApp | undefined> {
      const rows = await database.query<AppRow>({
        name: 'find_own_app',
        text: `${FIND} where a.client_id = $1
          and exists (select from app_owners o where o.client_id = a.client_id and o.user_id = $2)`,
        values: [clientId, userId]
      })
      return rows.map(toApp)[0]
    },

    /** Finds an app for operators. */
    async find(clientId: string): Promise<DeveloperApp | undefined> {
      const rows = await database.query<AppRow>({
        name: 'find_app',
        text: `${FIND} where a.client_id = $1`,
        values: [clientId]
      })
      return rows.map(toApp)[0]
    },

    /**
     * Whether another client, or the pending change of another app, has a name with one of these keys. Without discovered clients: pages
     * show their host, and any user could take a name by a document.
     */
    async isNameTaken(nameKeys: readonly string[], clientId: string): Promise<boolean> {
      const rows = await database.query({
        name: 'find_client_with_name_key',
        text: `select from clients where name_keys && $1::text[] and client_id <> $2
          union all select from app_names where name_key = any ($1::text[]) and client_id <> $2 limit 1`,
        values: [nameKeys, clientId]
      })
      return rows.length > 0
    }
  }
}

type StateRow = { published: boolean; disabled_at: Date | null; requested_at: Date | null }
type SummaryRow = StateRow & {
  client_id: string
  name: string
  refusal: string | null
  revision: number
  has_pending: boolean
  logo: string | null
}

const SUMMARY = `client_id, c.name, c.published, c.disabled_at, a.requested_at, a.refusal, a.revision, c.logo,
  a.pending is not null as has_pending`

function toSummary(row: SummaryRow): AppSummary {
  return {
    clientId: row.client_id,
    name: row.name,
    state: stateOf(row),
    requestedAt: row.requested_at ?? undefined,
    refusal: row.refusal ?? undefined,
    revision: row.revision,
    hasPendingChange: row.has_pending,
    logo: row.logo ?? undefined
  }
}

function stateOf({ published, disabled_at, requested_at }: StateRow): AppState {
  if (disabled_at !== null) return 'disabled'
  if (published) return 'approved'
  return requested_at === null ? 'draft' : 'requested'
}

type AppRow = StateRow &
  BrandingRow & {
    client_id: string
    type: Client['type']
    uses_keys: boolean
    name: string
    redirect_uris: string[]
    required_scopes: string[]
    optional_scopes: string[]
    verified_at: Date | null
    created_at: Date
    pending: AppSettings | null
    decided_at: Date | null
    refusal: string | null
    revision: number
    version: string
    owners: AppOwner[]
    testers: string[]
    invitations: { username: string; invitedBy: string; transfers: boolean; invitedAt: string }[]
  }

const FIND = `select a.client_id, c.type, c.private_key_jwt is not null as uses_keys, c.name, c.redirect_uris, c.required_scopes, c.optional_scopes, c.published,
    c.disabled_at, c.verified_at, c.created_at, a.pending, a.requested_at, a.decided_at, a.refusal, a.revision,
    concat_ws(' ', a.xmin, c.xmin) as version, ${BRANDING_COLUMNS},
    (select coalesce(json_agg(json_build_object('userId', u.user_id, 'username', u.username,
        'disabled', u.disabled_at is not null) order by o.added_at, u.username), '[]')
      from app_owners o join users u using (user_id) where o.client_id = a.client_id) as owners,
    array(select t.username from app_testers t where t.client_id = a.client_id order by t.username) as testers,
    (select coalesce(json_agg(json_build_object('username', i.username, 'invitedBy', u.username,
        'transfers', i.transfers, 'invitedAt', i.invited_at) order by i.username), '[]')
      from app_invitations i join users u on u.user_id = i.invited_by
      where i.client_id = a.client_id and ${IS_OPEN_INVITATION}) as invitations
  from developer_apps a join clients c using (client_id)`

function toApp(row: AppRow): DeveloperApp {
  return {
    clientId: row.client_id,
    type: row.type,
    usesKeys: row.uses_keys,
    state: stateOf(row),
    isPublished: row.published,
    settings: {
      name: row.name,
      redirectUris: row.redirect_uris,
      requiredScopes: row.required_scopes,
      optionalScopes: row.optional_scopes,
      branding: toBranding(row)
    },
    pending: row.pending ?? undefined,
    requestedAt: row.requested_at ?? undefined,
    decidedAt: row.decided_at ?? undefined,
    refusal: row.refusal ?? undefined,
    revision: row.revision,
    version: row.version,
    verified: row.verified_at !== null,
    createdAt: row.created_at,
    owners: row.owners,
    testers: row.testers,
    invitations: row.invitations.map((each) => ({ ...each, invitedAt: new Date(each.invitedAt) }))
  }
}
