import type { Database } from '@valetkey/service-kit'
import { canonicalName, userNameKey } from '@valetkey/sign-in-rules'
import { type AuditNote, audited, createAudited } from '../../../storage/postgres/audited.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from '../../../storage/postgres/users.js'

/** A person at an OpenID provider or a login page (OpenID Connect Core 1.0 §5.7). Never an e-mail address or a name. */
export type IdentityKey = { issuer: string; subject: string }

export type Identity = IdentityKey & { userId: string; createdAt: Date; lastUsedAt: Date | undefined }

type IdentityRow = { issuer: string; subject: string; user_id: string; created_at: Date; last_used_at: Date | null }

const COLUMNS = 'issuer, subject, user_id, created_at, last_used_at'

export function createIdentityStore(database: Database) {
  return {
    /** The user who is linked to the identity, also a disabled one. */
    async findUser({ issuer, subject }: IdentityKey): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_identity',
        text: `select ${USER_COLUMNS} from users join identities using (user_id) where issuer = $1 and subject = $2`,
        values: [issuer, subject]
      })
      return rows.map(toUser)[0]
    },

    /** By issuer and subject. */
    async list(userId: string): Promise<Identity[]> {
      const rows = await database.query<IdentityRow>({
        name: 'list_identities',
        text: `select ${COLUMNS} from identities where user_id = $1 order by issuer, subject`,
        values: [userId]
      })
      return rows.map(toIdentity)
    },

    /** Notes the use, and stores the name that the provider gives; undefined keeps the earlier one. */
    async noteSignIn({ issuer, subject }: IdentityKey, displayName: string | undefined): Promise<void> {
      await database.query({
        name: 'note_identity_sign_in',
        text: `with used as (
            update identities set last_used_at = now() where issuer = $1 and subject = $2 returning user_id)
          update users set display_name = coalesce($3, display_name)
          from used where users.user_id = used.user_id and $3::text is distinct from display_name`,
        values: [issuer, subject, displayName]
      })
    },

    /**
     * Creates a user who signs in with the identity.
     * @returns undefined if the identity or the user name is taken, or another user has a name that looks like it (UTS #39 §4)
     */
    async createUser(
      user: { userId: string; username: string; displayName: string | undefined },
      { issuer, subject }: IdentityKey,
      note: AuditNote
    ): Promise<User | undefined> {
      const change = {
        name: 'create_user_with_identity',
        parts: `changed as (
          insert into users (user_id, username, canonical_name, display_name, created_at, name_key)
          select $1, $2, $3, $4, now(), $7
          where not exists (select from users where name_key = $7) returning ${USER_COLUMNS}),
        linked as (
          insert into identities (issuer, subject, user_id, created_at) select $5, $6, user_id, now() from changed)`,
        result: 'select * from changed',
        values: [
          ...[user.userId, user.username, canonicalName(user.username), user.displayName],
          ...[issuer, subject, userNameKey(user.username)]
        ]
      }
      return (await createAudited<UserRow>(database, change, note)).map(toUser)[0]
    },

    /** @returns undefined if the identity is linked already, to whichever user */
    async link(userId: string, { issuer, subject }: IdentityKey, note: AuditNote): Promise<Identity | undefined> {
      const change = {
        name: 'link_identity',
        parts: `changed as (
          insert into identities (issuer, subject, user_id, created_at) values ($1, $2, $3, now())
          on conflict do nothing returning ${COLUMNS})`,
        result: `select ${COLUMNS} from changed`,
        values: [issuer, subject, userId]
      }
      return (await database.query<IdentityRow>(audited(change, note))).map(toIdentity)[0]
    },

    /** Ends all sessions of the user, because some may have begun with the identity. @returns undefined if it is not linked */
    async unlink(userId: string, { issuer, subject }: IdentityKey, note: AuditNote): Promise<Identity | undefined> {
      const change = {
        name: 'unlink_identity',
        parts: `changed as (
          delete from identities where issuer = $1 and subject = $2 and user_id = $3 returning ${COLUMNS}),
        ended as (
          update users set session_generation = session_generation + 1 from changed where users.user_id = changed.user_id)`,
        result: `select ${COLUMNS} from changed`,
        values: [issuer, subject, userId]
      }
      return (await database.query<IdentityRow>(audited(change, note))).map(toIdentity)[0]
    }
  }
}

export type IdentityStore = ReturnType<typeof createIdentityStore>

function toIdentity(row: IdentityRow): Identity {
  return {
    issuer: row.issuer,
    subject: row.subject,
    userId: row.user_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined
  }
}
