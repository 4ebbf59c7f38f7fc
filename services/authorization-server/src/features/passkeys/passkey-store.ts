import { type Database, defineStatement, isUniqueViolation } from '@valetkey/service-kit'
import { type AuditNote, defineChange } from '../../storage/postgres/audited.js'
import { ACTING_USER, type ActingSession } from '../../storage/postgres/live-session.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from '../../storage/postgres/users.js'

/** A passkey of a user (WebAuthn Level 3 §6.1). */
export type Passkey = {
  /** Credential id, base64url. */
  passkeyId: string
  userId: string
  /** The name as the user typed it. */
  name: string
  transports: readonly string[]
  /** It can be copied to other devices of the user. */
  synced: boolean
  backedUp: boolean
  createdAt: Date
  lastUsedAt: Date | undefined
}

type NewPasskey = Omit<Passkey, 'createdAt' | 'lastUsedAt'> & {
  /** COSE key. */
  publicKey: Uint8Array
  counter: number
  aaguid: string
}

type PasskeyRow = {
  passkey_id: string
  user_id: string
  name: string
  transports: string[]
  device_type: string
  backed_up: boolean
  created_at: Date
  last_used_at: Date | null
}

const COLUMNS = `passkeys.passkey_id, passkeys.user_id, passkeys.name, passkeys.transports, passkeys.device_type,
  passkeys.backed_up, passkeys.created_at, passkeys.last_used_at`

/** The limit of each user; a constraint of the table. */
export const MOST_PASSKEYS = 20

export function createPasskeyStore(database: Database) {
  return { ...findPasskeys(database), ...changePasskeys(database), ...removeAll(database) }
}

export type PasskeyStore = ReturnType<typeof createPasskeyStore>

function findPasskeys(database: Database) {
  return {
    /** The oldest first. */
    async list(userId: string): Promise<Passkey[]> {
      const rows = await database.query<PasskeyRow>({
        name: 'list_passkeys',
        text: `select ${COLUMNS} from passkeys where user_id = $1 order by created_at, passkey_id`,
        values: [userId]
      })
      return rows.map(toPasskey)
    },

    /** Finds for sign-in the key, and the user, who may be disabled. */
    async findForSignIn(
      passkeyId: string
    ): Promise<{ publicKey: Uint8Array; userHandle: Uint8Array; user: User } | undefined> {
      const rows = await database.query<UserRow & { public_key: Buffer; user_handle: Buffer }>({
        name: 'find_passkey_for_sign_in',
        text: `select ${USER_COLUMNS}, public_key, user_handle
          from passkeys join users using (user_id) join passkey_users using (user_id) where passkey_id = $1`,
        values: [passkeyId]
      })
      return rows.map((row) => ({ publicKey: row.public_key, userHandle: row.user_handle, user: toUser(row) }))[0]
    }
  }
}

const addPasskey = defineStatement(
  'add_passkey',
  `with owner as (${ACTING_USER})
  insert into passkeys (passkey_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid, name,
    position, created_at)
  select :passkeyId, owner.user_id, :publicKey, :counter, :transports, :deviceType, :backedUp, :aaguid, :name,
    min(free.position), now()
  from owner cross join generate_series(1, ${MOST_PASSKEYS}) as free (position)
  where not exists (select from passkeys p where p.user_id = owner.user_id and p.position = free.position)
  group by owner.user_id returning passkey_id`
)

const renamePasskey = defineStatement(
  'rename_passkey',
  'update passkeys set name = :name where user_id = :userId and passkey_id = :passkeyId'
)

const notePasskeyUse = defineStatement(
  'note_passkey_use',
  `update passkeys set counter = :counter, backed_up = :backedUp, last_used_at = now()
  where passkey_id = :passkeyId and (counter < :counter or (counter = 0 and :counter = 0)) returning passkey_id`
)

const removePasskey = defineStatement(
  'remove_passkey',
  `with acting as (${ACTING_USER}),
  ended as (
    update users set session_generation = session_generation + 1 from acting
    where users.user_id = acting.user_id
      and exists (select from passkeys where passkey_id = :passkeyId and user_id = acting.user_id)
    returning ${USER_COLUMNS}),
  removed as (delete from passkeys where passkey_id = :passkeyId and user_id in (select user_id from ended))
  select * from ended`
)

function changePasskeys(database: Database) {
  return {
    /** The user handle (WebAuthn Level 3 §5.4.3). The first call stores it. @param proposed 32 random bytes */
    async userHandle(userId: string, proposed: Uint8Array): Promise<Uint8Array> {
      await database.query({
        name: 'add_passkey_user',
        text: 'insert into passkey_users (user_id, user_handle) values ($1, $2) on conflict (user_id) do nothing',
        values: [userId, proposed]
      })
      const rows = await database.query<{ user_handle: Buffer }>({
        name: 'find_passkey_user',
        text: 'select user_handle from passkey_users where user_id = $1',
        values: [userId]
      })
      return rows[0]?.user_handle ?? proposed
    },

    /**
     * @param session in which the user adds it: if it has ended meanwhile, the passkey must not outlive it
     * @returns false if the session has ended, the user has 20 passkeys, the passkey exists, or another one is added at this moment
     */
    async add(passkey: NewPasskey, { sessionHash }: Pick<ActingSession, 'sessionHash'>): Promise<boolean> {
      const deviceType = passkey.synced ? 'multiDevice' : 'singleDevice'
      try {
        return (await database.query(addPasskey({ ...passkey, deviceType, sessionHash }))).length > 0
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },

    /** Changes nothing if the passkey is not of this user. */
    async rename(userId: string, passkeyId: string, name: string): Promise<void> {
      await database.query(renamePasskey({ userId, passkeyId, name }))
    },

    /**
     * Stores the use. The counter must rise, or be 0 before and after (WebAuthn Level 3 §6.1.1): one statement compares and
     * stores it, so that a copy of the passkey cannot be used at the same moment.
     * @returns false if the counter did not rise: the passkey may have been cloned
     */
    async noteUse(passkeyId: string, { counter, backedUp }: { counter: number; backedUp: boolean }): Promise<boolean> {
      return (await database.query(notePasskeyUse({ passkeyId, counter, backedUp }))).length > 0
    },

    /**
     * Removes a passkey and ends all sessions of the user, because some may have begun with it. Removals of the same user take
     * effect one after the other: each needs the session that it was decided in.
     * @returns undefined if the user has no such passkey, or the session has ended
     */
    async remove({ userId, sessionHash }: ActingSession, passkeyId: string): Promise<User | undefined> {
      return (await database.query<UserRow>(removePasskey({ userId, passkeyId, sessionHash }))).map(toUser)[0]
    }
  }
}

const removeAllPasskeys = defineChange(
  'remove_all_passkeys',
  `removed as (delete from passkeys where user_id = :userId returning user_id),
  changed as (
    update users set session_generation = session_generation + 1
    where user_id in (select user_id from removed) returning user_id)`,
  { result: 'select count(*)::integer as count from removed having count(*) > 0' }
)

/** The removal by operators, who may remove the last way to sign in. */
function removeAll(database: Database) {
  return {
    /** Removes all passkeys of a user, and ends all sessions. @returns how many were removed; undefined if the user has none */
    async removeAll(userId: string, note: AuditNote): Promise<number | undefined> {
      return (await database.query<{ count: number }>(removeAllPasskeys({ userId }, note)))[0]?.count
    }
  }
}

function toPasskey(row: PasskeyRow): Passkey {
  return {
    passkeyId: row.passkey_id,
    userId: row.user_id,
    name: row.name,
    transports: row.transports,
    synced: row.device_type === 'multiDevice',
    backedUp: row.backed_up,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined
  }
}
