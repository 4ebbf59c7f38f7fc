import type { Database } from '@valetkey/service-kit'
import { type CanonicalName, canonicalName, userNameKey } from '@valetkey/sign-in-rules'
import { type AuditNote, defineChange } from '../../storage/postgres/audited.js'
import type { IdentityKey } from '../foreign-sign-in/identities/identity-store.js'

/** A user of another system. */
export type ImportedUser = {
  userId: string
  /** The id is that of the other system, and not a new one. */
  keepsId: boolean
  disabled: boolean
  username: string
  passwordHash: string | undefined
  displayName: string | undefined
  email: string | undefined
  identities: readonly IdentityKey[]
}

/** Users and identities that exist already. */
export type Existing = {
  /** The users by canonical name. */
  users: ReadonlyMap<CanonicalName, { userId: string; username: string; disabled: boolean }>
  userIds: ReadonlySet<string>
  /** The names that `identityName` writes. */
  identities: ReadonlySet<string>
}

export function identityName({ issuer, subject }: IdentityKey): string {
  return JSON.stringify([issuer, subject])
}

const importUsers = defineChange(
  'import_users',
  `changed as (
    insert into users (user_id, username, canonical_name, name_key, password_hash, display_name, email, created_at,
      disabled_at, generation)
    select user_id, username, canonical_name, name_key, password_hash, display_name, email, now(),
      case when disabled then now() end,
      case when keeps_id then 1 + floor(random() * 1000000000)::integer else 0 end
    from jsonb_to_recordset(:users::jsonb) as given (user_id uuid, username text, canonical_name text, name_key text,
      password_hash text, display_name text, email text, keeps_id boolean, disabled boolean)
    on conflict do nothing returning user_id),
  linked as (
    insert into identities (issuer, subject, user_id, created_at)
    select issuer, subject, user_id, now()
    from jsonb_to_recordset(:identities::jsonb) as given (issuer text, subject text, user_id uuid)
    join changed using (user_id))`,
  {
    details: `jsonb_build_object('count', (select count(*) from changed))`,
    result: 'select count(*)::integer as created from changed'
  }
)

/** Creates many users in one statement. */
export function createUserImportStore(database: Database) {
  return {
    async findExisting(users: readonly ImportedUser[]): Promise<Existing> {
      const keys = users.flatMap(({ identities }) => identities)
      const [found, identities] = await Promise.all([
        database.query<{ username: string; user_id: string; disabled: boolean }>({
          name: 'find_imported_users',
          text: `select username, user_id, disabled_at is not null as disabled from users
            where canonical_name = any($1::text[]) or user_id = any($2::uuid[])`,
          values: [
            users.map(({ username }) => canonicalName(username)),
            users.filter((user) => user.keepsId).map(({ userId }) => userId)
          ]
        }),
        database.query<IdentityKey>({
          name: 'find_imported_identities',
          text: `select issuer, subject from identities
            join unnest($1::text[], $2::text[]) as imported (issuer, subject) using (issuer, subject)`,
          values: [keys.map(({ issuer }) => issuer), keys.map(({ subject }) => subject)]
        })
      ])
      return {
        users: new Map(
          found.map(({ username, user_id: userId, disabled }) => [
            canonicalName(username),
            { userId, username, disabled }
          ])
        ),
        userIds: new Set(found.map((user) => user.user_id)),
        identities: new Set(identities.map(identityName))
      }
    },

    /**
     * Creates all of these users with their identities, or none. An id that a deleted user had gets another generation, so
     * that no session or code of that user begins to work again.
     * @returns how many were created: without users that were created meanwhile
     */
    async add(users: readonly ImportedUser[], note: AuditNote): Promise<number> {
      const identities = users.flatMap((user) => user.identities.map((key) => ({ ...key, user_id: user.userId })))
      const rows = users.map(({ userId, keepsId, disabled, username, passwordHash, displayName, email }) => ({
        user_id: userId,
        keeps_id: keepsId,
        disabled,
        username,
        canonical_name: canonicalName(username),
        email,
        password_hash: passwordHash,
        display_name: displayName,
        name_key: userNameKey(username)
      }))
      const values = { users: JSON.stringify(rows), identities: JSON.stringify(identities) }
      return (await database.query<{ created: number }>(importUsers(values, note)))[0]?.created ?? 0
    }
  }
}

export type UserImportStore = ReturnType<typeof createUserImportStore>
