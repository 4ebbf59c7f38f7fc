import { type Database, defineStatement } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../../storage/postgres/audited.js'
import { endAccess } from '../app-people-store.js'

/** An owner of a client or of an app that a user registered. */
export type ClientOwner = { userId: string; username: string; disabled: boolean }

/** @property ownersChangeSecrets always true for an app that a user registered */
export type ClientOwnership = { owners: readonly ClientOwner[]; ownersChangeSecrets: boolean }

/** @property version of the client that the change is based on */
type OwnerChange = { clientId: string; version: string; ownerIds: readonly string[] }

type OwnerRow = {
  client_id: string
  changes_secrets: boolean
  user_id: string
  username: string
  disabled: boolean
}

const listOwners = defineStatement(
  'list_client_owners',
  `select owner.client_id, owner.changes_secrets, u.user_id, u.username, u.disabled_at is not null as disabled
  from (
    select o.client_id, o.user_id, o.changes_secrets, o.added_at from client_owners o where o.client_id = any (:clientIds::text[])
    union all
    select o.client_id, o.user_id, true, o.added_at from app_owners o where o.client_id = any (:clientIds::text[])) as owner
    join users u using (user_id)
  order by owner.client_id, owner.added_at, u.username`
)

/** The new owners, unless one was deleted meanwhile. Users are locked before the client, as in every statement that locks both. */
const NEW_OWNERS = `
  owners as (select u.user_id, u.disabled_at from users u where u.user_id = any (:ownerIds::uuid[]) order by u.user_id for no key update)`

const ALL_EXIST = '(select count(*) from owners) = cardinality(:ownerIds::uuid[])'

const replaceOwners = defineChange(
  'replace_client_owners',
  `${NEW_OWNERS},
  changed as (
    update clients c set name = c.name where c.client_id = :clientId and c.xmin = :version::xid and ${ALL_EXIST}
    returning c.client_id),
  removed as (
    delete from client_owners o using changed where o.client_id = changed.client_id and o.user_id <> all (:ownerIds::uuid[])),
  added as (
    insert into client_owners (client_id, user_id, changes_secrets, added_at)
    select changed.client_id, owners.user_id, :ownersChangeSecrets::boolean, now() from changed cross join owners
    on conflict (client_id, user_id) do update set changes_secrets = excluded.changes_secrets)`
)

// Both rows get a new version: a change that an owner makes at the same moment is refused.
const replaceAppOwners = defineChange(
  'replace_app_owners',
  `${NEW_OWNERS},
  changed as (
    update clients c set name = c.name where c.client_id = :clientId and c.xmin = :version::xid and ${ALL_EXIST}
      and exists (select from owners where owners.disabled_at is null)
    returning c.client_id),
  app as (update developer_apps a set revision = a.revision from changed where a.client_id = changed.client_id),
  removed as (
    delete from app_owners o using changed where o.client_id = changed.client_id and o.user_id <> all (:ownerIds::uuid[])
    returning o.client_id, o.user_id),
  withdrawn as (
    delete from app_invitations i using removed where i.client_id = removed.client_id and i.invited_by = removed.user_id),
  added as (
    insert into app_owners (client_id, user_id, added_at)
    select changed.client_id, owners.user_id, now() from changed cross join owners
    on conflict (client_id, user_id) do update set added_at = app_owners.added_at),
  ended as (${endAccess('u.user_id in (select removed.user_id from removed)')})`
)

/** Owners of clients, for operators. */
export function createClientOwnerStore(database: Database) {
  return {
    /** By client id. A client that is missing has no owners. */
    async list(clientIds: readonly string[]): Promise<ReadonlyMap<string, ClientOwnership>> {
      const rows = await database.query<OwnerRow>(listOwners({ clientIds }))
      const found = new Map<string, { owners: ClientOwner[]; ownersChangeSecrets: boolean }>()
      for (const row of rows) {
        const ownership = found.get(row.client_id) ?? { owners: [], ownersChangeSecrets: row.changes_secrets }
        ownership.owners.push({ userId: row.user_id, username: row.username, disabled: row.disabled })
        found.set(row.client_id, ownership)
      }
      return found
    },

    /** @returns false if the client has changed since that version, or one of the users was deleted */
    async replace(change: OwnerChange, ownersChangeSecrets: boolean, note: AuditNote): Promise<boolean> {
      return makeAudited(database, replaceOwners({ ...change, ownersChangeSecrets }, note))
    },

    /**
     * Replaces the owners of an app that a user registered. Ends the access of removed owners to an app that is not published.
     * @returns as `replace`; false also if all of the users are disabled
     */
    async replaceOfApp(change: OwnerChange, note: AuditNote): Promise<boolean> {
      return makeAudited(database, replaceAppOwners(change, note))
    }
  }
}

export type ClientOwnerStore = ReturnType<typeof createClientOwnerStore>
