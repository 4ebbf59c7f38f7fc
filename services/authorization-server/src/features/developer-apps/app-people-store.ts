import type { Database } from '@valetkey/service-kit'
import { type CanonicalName, canonicalName } from '@valetkey/sign-in-rules'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'
import { ACTING, type AppVersion, IS_OWN_APP, NEW_VERSION, OWN_CLIENT, type OwnerSession } from './app-change-sql.js'
import { IS_OPEN_INVITATION } from './app-invitation-sql.js'

/** The limits of each app; constraints of the tables. */
export const MOST_TESTERS = 25
export const MOST_INVITATIONS = 5

/**
/**
 * The user whose canonical name is the parameter. The right is theirs, and not that of a later user with this name. Null if there
 * is none, which the owner does not learn.
 */
const USER_NAMED = '(select n.user_id from users n where n.canonical_name = :canonicalName)'

/** Ends the access that these users gave to the app of `changed`, unless it is published. */
export const endAccess = <const Users extends string>(users: Users) =>
  `
  insert into authorizations (user_id, client_id, generation)
  select u.user_id, c.client_id, 1 from changed join clients c using (client_id) cross join users u
  where not c.published and ${users}
  on conflict (user_id, client_id) do update set generation = authorizations.generation + 1` as const

const IS_NO_OWNER = 'not exists (select from app_owners o where o.client_id = c.client_id and o.user_id = u.user_id)'

/** Owners and testers of apps. Every change fails if the app has changed since the version. */
export function createAppPeopleStore(database: Database) {
  return { ...changeOwners(database), ...decideInvitations(database), ...changeTesters(database) }
}

export type AppPeopleStore = ReturnType<typeof createAppPeopleStore>

// The expired ones are deleted before the insert, which reads their number: it may use their positions.
const invite = defineChange(
  'invite_app_owner',
  `${OWN_CLIENT}, ${NEW_VERSION},
  expired as (
    delete from app_invitations i using app
    where i.client_id = app.client_id and i.canonical_name <> :canonicalName and not (${IS_OPEN_INVITATION}) returning i.position),
  changed as (
    insert into app_invitations (client_id, username, canonical_name, user_id, invited_by, transfers, invited_at, position)
    select app.client_id, :username, :canonicalName, ${USER_NAMED}, :userId, :transfers, now(), coalesce(
      (select i.position from app_invitations i where i.client_id = app.client_id and i.canonical_name = :canonicalName),
      (select min(p.position) from generate_series(1, ${MOST_INVITATIONS}) as p (position)
        where p.position in (select e.position from expired e) or not exists (
          select from app_invitations i where i.client_id = app.client_id and i.position = p.position)))
    from app
    on conflict (client_id, canonical_name) do update set username = excluded.username, user_id = excluded.user_id,
      invited_by = excluded.invited_by, transfers = excluded.transfers, invited_at = now()
    returning client_id)`
)

const withdrawInvitation = defineChange(
  'withdraw_app_invitation',
  `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (
    delete from app_invitations i using app
    where i.client_id = app.client_id and i.canonical_name = :canonicalName returning i.client_id)`
)

const removeOwner = defineChange(
  'remove_app_owner',
  `${OWN_CLIENT},
  app as (
    update developer_apps a set revision = a.revision from client
    where ${IS_OWN_APP} and exists (select from app_owners o join users u using (user_id)
      where o.client_id = a.client_id and o.user_id <> :ownerId and u.disabled_at is null)
    returning a.client_id),
  changed as (
    delete from app_owners o using app where o.client_id = app.client_id and o.user_id = :ownerId returning o.client_id),
  invited as (
    delete from app_invitations i using changed where i.client_id = changed.client_id and i.invited_by = :ownerId),
  ended as (${endAccess('u.user_id = :ownerId')})`
)

function changeOwners(database: Database) {
  return {
    /** Replaces an invitation of the same user. @returns false also if there are 5 */
    async invite(
      session: OwnerSession,
      app: AppVersion,
      { username, transfers }: { username: string; transfers: boolean },
      note: AuditNote
    ): Promise<boolean> {
      const values = { ...session, ...app, username, canonicalName: canonicalName(username), transfers }
      return makeAudited(database, invite(values, note))
    },

    async withdrawInvitation(
      session: OwnerSession,
      app: AppVersion,
      name: CanonicalName,
      note: AuditNote
    ): Promise<boolean> {
      return makeAudited(database, withdrawInvitation({ ...session, ...app, canonicalName: name }, note))
    },

    /**
     * Never removes the last enabled owner. Ends the access of the removed owner to an app that is not published.
     */
    async removeOwner(session: OwnerSession, app: AppVersion, userId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, removeOwner({ ...session, ...app, ownerId: userId }, note))
    }
  }
}

const acceptInvitation = defineChange(
  'accept_app_invitation',
  `${ACTING},
  client as (select c.client_id from clients c cross join acting where c.client_id = :clientId for update of c),
  invitation as (
    delete from app_invitations i using acting, client
    where i.client_id = client.client_id and i.user_id = acting.user_id and ${IS_OPEN_INVITATION}
    returning i.client_id, i.invited_by, i.transfers),
  app as (
    update developer_apps a set revision = a.revision from invitation where a.client_id = invitation.client_id
    returning a.client_id),
  changed as (
    insert into app_owners (client_id, user_id, added_at) select client_id, :userId, now() from app
    on conflict (client_id, user_id) do update set added_at = app_owners.added_at returning client_id),
  replaced as (
    delete from app_owners o using invitation i
    where i.transfers and o.client_id = i.client_id and o.user_id = i.invited_by and o.user_id <> :userId
    returning o.client_id, o.user_id),
  withdrawn as (
    delete from app_invitations i using replaced o where i.client_id = o.client_id and i.invited_by = o.user_id),
  ended as (${endAccess('u.user_id in (select i.invited_by from invitation i where i.transfers) and u.user_id <> :userId')})`
)

const declineInvitation = defineChange(
  'decline_app_invitation',
  `${ACTING},
  changed as (
    delete from app_invitations i using acting where i.client_id = :clientId and i.user_id = acting.user_id
    returning i.client_id)`
)

function decideInvitations(database: Database) {
  return {
    /** The invited user becomes an owner. With `transfers`, the owner who invited stops to be one, and so do their invitations. */
    async accept(session: OwnerSession, clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, acceptInvitation({ ...session, clientId }, note))
    },

    async decline(session: OwnerSession, clientId: string, note: AuditNote): Promise<boolean> {
      return makeAudited(database, declineInvitation({ ...session, clientId }, note))
    }
  }
}

const addTester = defineChange(
  'add_app_tester',
  `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (
    insert into app_testers (client_id, username, canonical_name, user_id, position)
    select app.client_id, :username, :canonicalName, ${USER_NAMED}, free.position from app cross join (
      select coalesce(
        (select t.position from app_testers t where t.client_id = :clientId and t.canonical_name = :canonicalName),
        (select min(p.position) from generate_series(1, ${MOST_TESTERS}) as p (position)
          where not exists (select from app_testers t where t.client_id = :clientId and t.position = p.position))
      ) as position) free
    where free.position is not null
    on conflict (client_id, canonical_name) do update set username = excluded.username, user_id = excluded.user_id
    returning client_id)`
)

const removeTester = defineChange(
  'remove_app_tester',
  `${OWN_CLIENT}, ${NEW_VERSION},
  changed as (
    delete from app_testers t using app where t.client_id = app.client_id and t.canonical_name = :canonicalName
    returning t.client_id, t.user_id),
  ended as (${endAccess(`u.user_id = changed.user_id and ${IS_NO_OWNER}`)})`
)

function changeTesters(database: Database) {
  return {
    /** One who was added before is added again: the name may be that of another user now. @returns false also if there are 25 */
    async addTester(session: OwnerSession, app: AppVersion, username: string, note: AuditNote): Promise<boolean> {
      const values = { ...session, ...app, username, canonicalName: canonicalName(username) }
      return makeAudited(database, addTester(values, note))
    },

    /** Ends their access to an app that is not published. */
    async removeTester(session: OwnerSession, app: AppVersion, name: CanonicalName, note: AuditNote): Promise<boolean> {
      return makeAudited(database, removeTester({ ...session, ...app, canonicalName: name }, note))
    }
  }
}
