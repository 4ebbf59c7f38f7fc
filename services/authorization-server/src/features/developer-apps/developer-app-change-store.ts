import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AuditNote, makeAudited } from '../../storage/postgres/audited.js'
import { type AppSettings, type DeveloperApp, isSameApp, isSameClient } from './developer-app-store.js'

/** The session in which an owner makes a change. If it has ended meanwhile, nothing is changed. */
export type OwnerSession = { userId: string; userGeneration: number; sessionGeneration: number }

/** The version of an app that a change is based on. If the app has been changed since, nothing is changed. */
export type AppVersion = Pick<DeveloperApp, 'clientId' | 'version'>

type NewApp = AppSettings & { clientId: string; type: DeveloperApp['type']; published: boolean }

/** @property nameKeys of the name, and of the pending name if there is one; see `app_names` */
type SettingsChange = { settings: AppSettings; nameKeys: readonly string[]; addedScopes: readonly string[] }

/** Apps of one user; a constraint of the table. */
export const MOST_APPS = 20
/** Registrations of one user on one day. */
export const MOST_PER_DAY = 10
/** Apps of one owner that wait for approval, so that requests of one owner do not fill the queue. */
export const MOST_WAITING = 5

/**
 * The user, if the session is valid: $1 to $3. The lock makes the changes of a user, and the end of the user, take effect one after
 * the other.
 */
export const ACTING = `acting as (
  select user_id, username from users where user_id = $1 and generation = $2 and session_generation = $3
    and disabled_at is null for no key update)`

/**
 * Locks the client $4 and changes its app, if an owner acts and the version is $5. All statements lock the client first, as its
 * deletion does.
 */
export const changeOwn = (set: string, condition = 'true') => `${ACTING},
  client as (
    select c.client_id, acting.user_id from clients c cross join acting
    where c.client_id = $4 and ${isSameClient('$5')} for update of c),
  app as (
    update developer_apps a set ${set} from client
    where a.client_id = client.client_id and ${isSameApp('$5')} and ${condition}
      and exists (select from app_owners o where o.client_id = a.client_id and o.user_id = $1)
    returning a.client_id)`

/** For `changeOwn`: gives the app a new version. The revision that operators approve stays. */
export const NEW_VERSION = 'revision = a.revision'

export const ownValues = (session: OwnerSession, { clientId, version }: AppVersion) => [
  ...[session.userId, session.userGeneration, session.sessionGeneration],
  ...[clientId, version]
]

/** Whether the app waits already, or fewer than 5 apps of the owner do. For `changeOwn`, which holds the lock of the owner by then. */
const HAS_PLACE = `(a.requested_at is not null or waiting_apps(client.user_id) < ${MOST_WAITING})`

/** Whether these scopes exist and are released for apps of users. Locks them, so that none is deleted before the commit. */
const offeredScopes = (names: string) => `
  locked_scopes as (
    select name from scopes where name = any (${names}::text[]) and is_self_service order by name for key share),
  known as (select count(*) = cardinality(${names}::text[]) as are_all from locked_scopes)`

/** Takes the names of `keys` for the app; those that it has no more become free. A name of another app is a unique violation. */
export const takeNames = (keys: string) => `
  taken as (
    insert into app_names (name_key, client_id) select distinct key, app.client_id from app, unnest(${keys}::text[]) key
    where not exists (select from app_names n where n.name_key = key and n.client_id = app.client_id)),
  freed as (
    delete from app_names n using app where n.client_id = app.client_id and n.name_key <> all (${keys}::text[]))`

export function createDeveloperAppChangeStore(database: Database) {
  return {
    ...createApps(database),
    ...changeSettings(database),
    ...changeRequests(database),
    ...endApps(database)
  }
}

export type DeveloperAppChangeStore = ReturnType<typeof createDeveloperAppChangeStore>

function createApps(database: Database) {
  return {
    /**
     * Creates an app with its client and first secret. A name that is taken is a unique violation.
     * @returns false if a scope is not offered, a limit is reached or the session has ended
     */
    async create(
      session: OwnerSession,
      app: NewApp,
      { nameKeys, secretHash }: { nameKeys: readonly string[]; secretHash: TokenHash | undefined },
      note: AuditNote
    ): Promise<boolean> {
      const parts = `${ACTING}, ${offeredScopes('$16')},
        free as (
          select min(p.position) as position from generate_series(1, ${MOST_APPS}) as p (position)
          where not exists (select from developer_apps a where a.created_by = $1 and a.position = p.position)),
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
            issues_refresh_tokens, consent, published, reviewed, home_page, publisher, privacy_policy, terms, logo, created_at)
          select $4, 'developer', $7, $5, $8::text[], $9::text[], $10::text[], true, true, 'ask', $6::boolean, false, $11, $12, $13, $14, $15,
            now()
          from registration returning client_id),
        app as (
          insert into developer_apps (client_id, created_by, position) select client_id, $1, free.position from changed, free),
        owner as (insert into app_owners (client_id, user_id, added_at) select client_id, $1, now() from changed),
        named as (insert into app_names (name_key, client_id) select key, client_id from changed, unnest($17::text[]) key),
        secret as (
          insert into client_secrets (client_id, secret_hash, created_at)
          select client_id, $18::bytea, now() from changed where $18::bytea is not null)`
      const values = [
        ...[session.userId, session.userGeneration, session.sessionGeneration],
        ...[app.clientId, app.type, app.published, ...settingsOf(app)],
        ...[[...app.requiredScopes, ...app.optionalScopes], nameKeys, secretHash]
      ]
      return makeAudited(database, { name: 'create_app', parts, values }, note)
    }
  }
}

function changeSettings(database: Database) {
  return {
    /** In effect at once; drops a pending change. @returns false if the app has changed since, or a scope is not offered */
    async change(
      session: OwnerSession,
      app: AppVersion,
      { settings, nameKeys, addedScopes }: SettingsChange,
      note: AuditNote
    ): Promise<boolean> {
      const set = `revision = a.revision + 1, pending = null,
        requested_at = case when a.pending is null then a.requested_at end`
      const parts = `${offeredScopes('$15')}, ${changeOwn(set, '(select are_all from known)')}, ${takeNames('$16')},
        changed as (
          update clients c set ${setSettings(6, 'false', VERIFIED_UNSEEN)},
            reviewed = c.reviewed and c.redirect_uris = $7::text[]
          from app where c.client_id = app.client_id returning c.client_id)`
      const values = [...ownValues(session, app), ...settingsOf(settings), addedScopes, nameKeys]
      return makeAudited(database, { name: 'change_app', parts, values }, note)
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
      const set = `revision = a.revision + 1, pending = $6::jsonb, refusal = null,
        requested_at = coalesce(a.requested_at, now())`
      const condition = `(select are_all from known) and ${HAS_PLACE}`
      const parts = `${offeredScopes('$7')}, ${changeOwn(set, condition)}, ${takeNames('$8')},
        changed as (select client_id from app)`
      const values = [...ownValues(session, app), JSON.stringify(settings), addedScopes, nameKeys]
      return makeAudited(database, { name: 'propose_app_change', parts, values }, note)
    },

    /** Drops the pending change. */
    async withdrawChange(session: OwnerSession, app: AppVersion, nameKeys: readonly string[], note: AuditNote) {
      const set = 'revision = a.revision + 1, pending = null, requested_at = null, refusal = null'
      const parts = `${changeOwn(set, 'a.pending is not null')}, ${takeNames('$6')}, changed as (select client_id from app)`
      const values = [...ownValues(session, app), nameKeys]
      return makeAudited(database, { name: 'withdraw_app_change', parts, values }, note)
    }
  }
}

function changeRequests(database: Database) {
  return {
    /** @returns false if the app has changed since, or 5 other apps of the owner wait */
    async request(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      const set = 'requested_at = coalesce(a.requested_at, now()), refusal = null'
      const parts = `${changeOwn(set, HAS_PLACE)}, changed as (select client_id from app)`
      return makeAudited(database, { name: 'request_app_approval', parts, values: ownValues(session, app) }, note)
    },

    async withdrawRequest(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      const parts = `${changeOwn('requested_at = null', 'a.requested_at is not null')},
        changed as (select client_id from app)`
      return makeAudited(database, { name: 'withdraw_app_request', parts, values: ownValues(session, app) }, note)
    },

    /** Without an operator (`DEVELOPER_APPS=open`). */
    async publish(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      const parts = `${changeOwn('requested_at = null, refusal = null')},
        changed as (update clients c set published = true from app where c.client_id = app.client_id returning c.client_id)`
      return makeAudited(database, { name: 'publish_app', parts, values: ownValues(session, app) }, note)
    }
  }
}

function endApps(database: Database) {
  return {
    /** The new generation ends every token. */
    async disable(session: OwnerSession, app: AppVersion, note: AuditNote): Promise<boolean> {
      const parts = `${changeOwn('requested_at = null')},
        changed as (
          update clients c set disabled_at = now(), generation = c.generation + 1 from app
          where c.client_id = app.client_id and c.disabled_at is null returning c.client_id)`
      return makeAudited(database, { name: 'disable_app', parts, values: ownValues(session, app) }, note)
    },

    /** Ends every token, and deletes all that belongs to the app. */
    async remove(session: OwnerSession, clientId: string, note: AuditNote): Promise<boolean> {
      const parts = `${ACTING}, changed as (
          delete from clients c using acting where c.client_id = $4
            and exists (select from app_owners o where o.client_id = c.client_id and o.user_id = $1)
          returning c.client_id)`
      const values = [session.userId, session.userGeneration, session.sessionGeneration, clientId]
      return makeAudited(database, { name: 'delete_app', parts, values }, note)
    }
  }
}

/** Columns of `clients` in the order of `settingsOf`. */
const SETTINGS = [
  ...['name', 'redirect_uris', 'required_scopes', 'optional_scopes'],
  ...['home_page', 'publisher', 'privacy_policy', 'terms', 'logo']
]
/** With another value, the client is not verified any more. */
const VERIFIED = ['name', 'home_page', 'publisher']
/** The same for a change that no operator sees before it takes effect. */
const VERIFIED_UNSEEN = [...VERIFIED, 'redirect_uris', 'logo']

/**
 * Sets the columns to the parameters from number `first` on.
 * @param verified whether an operator verifies the client now @param same columns that it stays verified with
 */
export function setSettings(first: number, verified = 'false', same: readonly string[] = VERIFIED): string {
  const parameter = (column: string) => `$${first + SETTINGS.indexOf(column)}`
  const set = SETTINGS.map((column) => `${column} = ${parameter(column)}`).join(', ')
  const isSame = same.map((column) => `c.${column} is not distinct from ${parameter(column)}`).join(' and ')
  // An operator may have named the app before; its own names are in app_names.
  return `${set}, name_keys = null, verified_at = case when ${verified} then coalesce(c.verified_at, now()) when ${isSame} then c.verified_at end`
}

export function settingsOf({ name, redirectUris, requiredScopes, optionalScopes, branding }: AppSettings): unknown[] {
  const { homePage, publisher, privacyPolicy, terms, logo } = branding
  return [name, redirectUris, requiredScopes, optionalScopes, homePage, publisher, privacyPolicy, terms, logo]
}
