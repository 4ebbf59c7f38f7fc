import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { BRANDING_COLUMNS, BRANDING_PARAMETERS } from '../../storage/postgres/client-branding.js'
import {
  ACTING,
  type AppVersion,
  HAS_PLACE,
  IS_OWN_APP,
  KEEPS_VERIFIED,
  OFFERED_SCOPES,
  OWN_CLIENT,
  type OwnerSession,
  SET_SETTINGS,
  settingValues,
  TAKE_NAMES
} from './app-change-sql.js'
import type { AppSettings, DeveloperApp } from './developer-app-store.js'

type NewApp = AppSettings & { clientId: string; type: DeveloperApp['type']; published: boolean }

/** @property nameKeys of the name, and of the pending name if there is one; see `app_names` */
type SettingsChange = { settings: AppSettings; nameKeys: readonly string[]; addedScopes: readonly string[] }

/** Apps of one user; a constraint of the table. */
export const MOST_APPS = 20
/** Registrations of one user on one day. */
export const MOST_PER_DAY = 10

export function createDeveloperAppChangeStore(database: Database) {
  return {
    ...createApps(database),
    ...changeSettings(database),
    ...changeRequests(database),
    ...endApps(database)
  }
}

export type DeveloperAppChangeStore = ReturnType<typeof createDeveloperAppChangeStore>

const createApp = defineChange(
  'create_app',
  `${ACTING}, ${OFFERED_SCOPES},
  free as (
    select min(p.position) as position from generate_series(1, ${MOST_APPS}) as p (position)
    where not exists (select from developer_apps a where a.created_by = :userId and a.position = p.position)),
  registration as (
    insert into app_registrations (user_id, day, count)
    select user_id, (now() at time zone 'utc')::date, 1 from acting cross join known cross join free
    where known.are_all and free.position is not null
    on conflict (user_id) do update set day = excluded.day,
      count = case when app_registrations.day = excluded.day then app_registrations.count + 1 else 1 end
    where app_registrations.day <> excluded.day or app_registrations.count < ${MOST_PER_DAY}
    returning user_id),
  changed as (
    insert into clients (client_id, origin, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, published, reviewed, created_at, ${BRANDING_COLUMNS})
    select :clientId, 'developer', :name, :type, :redirectUris::text[], :requiredScopes::text[], :optionalScopes::text[], true,
      true, 'ask', :published::boolean, false, now(), ${BRANDING_PARAMETERS}
    from registration returning client_id),
  app as (
    insert into developer_apps (client_id, created_by, position)
    select client_id, :userId, free.position from changed, free),
  owner as (insert into app_owners (client_id, user_id, added_at) select client_id, :userId, now() from changed),
  named as (
    insert into app_names (name_key, client_id) select key, client_id from changed, unnest(:nameKeys::text[]) key),
  secret as (
    insert into client_secrets (client_id, secret_hash, created_at)
    select client_id, :secretHash::bytea, now() from changed where :secretHash::bytea is not null)`
)

function createApps(database: Database) {
  return {
    /**
     * Creates an app with its client and first secret. A name that is taken is a unique violation.
     * @returns false if a scope is not offered, a limit is reached or the session has ended
     */
    async create(
      session: OwnerSession,
      { clientId, type, published, ...settings }: NewApp,
      { nameKeys, secretHash }: { nameKeys: readonly string[]; secretHash: TokenHash | undefined },
      note: AuditNote
    ): Promise<boolean> {
      const addedScopes = [...settings.requiredScopes, ...settings.optionalScopes]
      const values = {
        ...session,
        clientId,
        type,
        published,
        ...settingValues(settings),
        addedScopes,
        nameKeys,
        secretHash
      }
      return makeAudited(database, createApp(values, note))
    }
  }
}

// No operator sees the change before it takes effect: a new redirect URI or logo also ends the verification.
const changeApp = defineChange(
  'change_app',
  `${OFFERED_SCOPES}, ${OWN_CLIENT},
  app as (
    update developer_apps a set revision = a.revision + 1, pending = null,
      requested_at = case when a.pending is null then a.requested_at end
    from client where ${IS_OWN_APP} and (select are_all from known) returning a.client_id),
  ${TAKE_NAMES},
  changed as (
    update clients c set ${SET_SETTINGS},
      verified_at = case when ${KEEPS_VERIFIED} and c.redirect_uris is not distinct from :redirectUris
        and c.logo is not distinct from :logo then c.verified_at end,
      reviewed = c.reviewed and c.redirect_uris = :redirectUris::text[]
    from app where c.client_id = app.client_id returning c.client_id)`
)

const proposeChange = defineChange(
  'propose_app_change',
  `${OFFERED_SCOPES}, ${OWN_CLIENT},
  app as (
    update developer_apps a set revision = a.revision + 1, pending = :settings::jsonb, refusal = null,
      requested_at = coalesce(a.requested_at, now())
    from client where ${IS_OWN_APP} and (select are_all from known) and ${HAS_PLACE} returning a.client_id),
  ${TAKE_NAMES},
  changed as (select client_id from app)`
)

const withdrawChange = defineChange(
  'withdraw_app_change',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set revision = a.revision + 1, pending = null, requested_at = null, refusal = null
    from client where ${IS_OWN_APP} and a.pending is not null returning a.client_id),
  ${TAKE_NAMES},
  changed as (select client_id from app)`
)

function changeSettings(database: Database) {
  return {
    /** Changes the app at once; drops a pending change. @returns false if the app has changed since, or a scope is not offered */
    async change(
      session: OwnerSession,
      app: AppVersion,
      { settings, nameKeys, addedScopes }: SettingsChange,
      note: AuditNote
    ): Promise<boolean> {
      const values = { ...session, ...app, ...settingValues(settings), addedScopes, nameKeys }
      return makeAudited(database, changeApp(values, note))
    },

    /**
     * Stores a change of a published app for approval.
     * @returns false if the app has changed since, a scope is not offered, or 5 other apps of the owner wait
     */
    async propose(
      session: OwnerSession,
      app: AppVersion,
      { settings, nameKeys, addedScopes }: SettingsChange,
      note: AuditNote
    ): Promise<boolean> {
      const values = { ...session, ...app, settings: JSON.stringify(settings), addedScopes, nameKeys }
      return makeAudited(database, proposeChange(values, note))
    },

    /** Drops the pending change. */
    async withdrawChange(session: OwnerSession, app: AppVersion, nameKeys: readonly string[], note: AuditNote) {
      return makeAudited(database, withdrawChange({ ...session, ...app, nameKeys }, note))
    }
  }
}

const requestApproval = defineChange(
  'request_app_approval',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set requested_at = coalesce(a.requested_at, now()), refusal = null
    from client where ${IS_OWN_APP} and ${HAS_PLACE} returning a.client_id),
  changed as (select client_id from app)`
)

const withdrawRequest = defineChange(
  'withdraw_app_request',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set requested_at = null
    from client where ${IS_OWN_APP} and a.requested_at is not null returning a.client_id),
  changed as (select client_id from app)`
)

const publishApp = defineChange(
  'publish_app',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set requested_at = null, refusal = null
    from client where ${IS_OWN_APP} returning a.client_id),
  changed as (update clients c set published = true from app where c.client_id = app.client_id returning c.client_id)`
)

function changeRequests(database: Database) {
  return {
    /** @returns false if the app has changed since, or 5 other apps of the owner wait */
    async request(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      return makeAudited(database, requestApproval({ ...session, ...app }, note))
    },

    async withdrawRequest(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      return makeAudited(database, withdrawRequest({ ...session, ...app }, note))
    },

    /** Publishes without an operator (`DEVELOPER_APPS=open`). */
    async publish(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      return makeAudited(database, publishApp({ ...session, ...app }, note))
    }
  }
}

const disableApp = defineChange(
  'disable_app',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set requested_at = null from client where ${IS_OWN_APP} returning a.client_id),
  changed as (
    update clients c set disabled_at = now(), generation = c.generation + 1 from app
    where c.client_id = app.client_id and c.disabled_at is null returning c.client_id)`
)

const deleteApp = defineChange(
  'delete_app',
  `${ACTING},
  changed as (
    delete from clients c using acting where c.client_id = :clientId
      and exists (select from app_owners o where o.client_id = c.client_id and o.user_id = :userId)
    returning c.client_id)`
)

function endApps(database: Database) {
  return {
    /** The new generation ends every token. */
    async disable(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      return makeAudited(database, disableApp({ ...session, ...app }, note))
    },

    /** Ends every token, and deletes all that belongs to the app. */
    async remove(session: OwnerSession, clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, deleteApp({ ...session, clientId }, note))
    }
  }
}
