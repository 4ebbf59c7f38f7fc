import { brandingValues, SET_BRANDING } from '../../storage/postgres/client-branding.js'
import { ACTING_USER, type ActingSession } from '../../storage/postgres/live-session.js'
import type { AppSettings, DeveloperApp } from './developer-app-store.js'

/** The session in which an owner makes a change. If it has ended meanwhile, nothing is changed. */
export type OwnerSession = ActingSession

/** The version of an app that a change is based on. If the app has been changed since, nothing is changed. */
export type AppVersion = Pick<DeveloperApp, 'clientId' | 'version'>

/** The user, if the session is valid. */
export const ACTING = `acting as (${ACTING_USER})` as const

/** Whether client `c` has not been changed since the version of its app. An operator can change the client alone. */
export const IS_SAME_CLIENT = `c.xmin = split_part(:version, ' ', 2)::xid`

/** Locks the client of an app. All statements lock the client before its app, as the deletion of a client does. */
export const OWN_CLIENT = `${ACTING},
  client as (
    select c.client_id, acting.user_id from clients c cross join acting
    where c.client_id = :clientId and ${IS_SAME_CLIENT} for update of c)` as const

/** Whether `a` is the app of `client`, has not been changed since the version, and the user is one of its owners. */
export const IS_OWN_APP = `a.client_id = client.client_id and a.xmin = split_part(:version, ' ', 1)::xid
  and exists (select from app_owners o where o.client_id = a.client_id and o.user_id = :userId)`

/** Gives an app a new version. The revision that operators approve stays. */
export const NEW_VERSION = `
  app as (
    update developer_apps a set revision = a.revision from client where ${IS_OWN_APP} returning a.client_id)` as const

/** Takes the names for the app; those that it has no more become free. A name of another app is a unique violation. */
export const TAKE_NAMES = `
  taken as (
    insert into app_names (name_key, client_id) select distinct key, app.client_id from app, unnest(:nameKeys::text[]) key
    where not exists (select from app_names n where n.name_key = key and n.client_id = app.client_id)),
  freed as (
    delete from app_names n using app where n.client_id = app.client_id and n.name_key <> all (:nameKeys::text[]))`

/** Apps of one owner that wait for approval, so that requests of one owner do not fill the queue. */
export const MOST_WAITING = 5

/** Whether the app waits already, or fewer than 5 apps of the owner do. The statement has the lock of the owner by then. */
export const HAS_PLACE = `(a.requested_at is not null or waiting_apps(client.user_id) < ${MOST_WAITING})` as const

/** Whether these scopes exist and are released for apps of users. Locks them, so that none is deleted before the commit. */
export const OFFERED_SCOPES = `
  locked_scopes as (
    select name from scopes where name = any (:addedScopes::text[]) and is_self_service order by name for key share),
  known as (select count(*) = cardinality(:addedScopes::text[]) as are_all from locked_scopes)`

/** Columns of a client. An operator may have named the app before; the names of an app are in `app_names`. */
export const SET_SETTINGS = `name = :name, redirect_uris = :redirectUris, required_scopes = :requiredScopes,
  optional_scopes = :optionalScopes, name_keys = null, ${SET_BRANDING}`

/** Whether client `c` keeps what an operator verifies. */
export const KEEPS_VERIFIED = `c.name is not distinct from :name and c.home_page is not distinct from :homePage
  and c.publisher is not distinct from :publisher`

export function settingValues({ name, redirectUris, requiredScopes, optionalScopes, branding }: AppSettings) {
  return { name, redirectUris, requiredScopes, optionalScopes, ...brandingValues(branding) }
}
