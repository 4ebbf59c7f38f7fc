import { type Database, defineStatement } from '@valetkey/service-kit'
import { canonicalName, userNameKey } from '@valetkey/sign-in-rules'
import { type AuditNote, createAudited, defineChange } from '../../../storage/postgres/audited.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from '../../../storage/postgres/users.js'

/** A person at an OpenID provider or a login page (OpenID Connect Core 1.0 §5.7). Never an e-mail address or a name. */
export type IdentityKey = { issuer: string; subject: string }

export type Identity = IdentityKey & { userId: string; createdAt: Date; lastUsedAt: Date | undefined }

type IdentityRow = { issuer: string; subject: string; user_id: string; created_at: Date; last_used_at: Date | null }

const COLUMNS = 'issuer, subject, user_id, created_at, last_used_at'

const findUser = defineStatement(
  'find_user_by_identity',
  `select ${USER_COLUMNS} from users join identities using (user_id) where issuer = :issuer and subject = :subject`
)

const noteSignIn = defineStatement(
  'note_identity_sign_in',
  `with used as (
    update identities set last_used_at = now() where issuer = :issuer and subject = :subject returning user_id)
  update users set display_name = coalesce(:displayName, display_name)
  from used where users.user_id = used.user_id and :displayName::text is distinct from display_name`
)

const createUser = defineChange(
  'create_user_with_identity',
  `changed as (
    insert into users (user_id, username, canonical_name, display_name, created_at, name_key)
    select :userId, :username, :canonicalName, :displayName, now(), :nameKey
    where not exists (select from users where name_key = :nameKey) returning ${USER_COLUMNS}),
  linked as (
    insert into identities (issuer, subject, user_id, created_at) select :issuer, :subject, user_id, now() from changed)`,
  { result: 'select * from changed' }
)

const link = defineChange(
  'link_identity',
  `changed as (
    insert into identities (issuer, subject, user_id, created_at) values (:issuer, :subject, :userId, now())
    on conflict do nothing returning ${COLUMNS})`,
  { result: `select ${COLUMNS} from changed` }
)

const unlink = defineChange(
  'unlink_identity',
  `changed as (
    delete from identities where issuer = :issuer and subject = :subject and user_id = :userId returning ${COLUMNS}),
  ended as (
    update users set session_generation = session_generation + 1 from changed where users.user_id = changed.user_id)`,
  { result: `select ${COLUMNS} from changed` }
)

export function createIdentityStore(database: Database) {
  return {
    /** The user who is linked to the identity, also a disabled one. */
    async findUser({ issuer, subject }: IdentityKey): Promise<User | undefined> {
      return (await database.query<UserRow>(findUser({ issuer, subject }))).map(toUser)[0]
    },

    /** Lists identities by issuer and subject. */
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
      await database.query(noteSignIn({ issuer, subject, displayName }))
    },

    /**
     * Creates a user who signs in with the identity.
     * @returns undefined if the identity or the user name is taken, or another user has a name that looks like it (UTS #39 §4)
     */
    async createUser(
      { userId, username, displayName }: { userId: string; username: string; displayName: string | undefined },
      { issuer, subject }: IdentityKey,
      note: AuditNote
    ): Promise<User | undefined> {
      const names = { username, canonicalName: canonicalName(username), nameKey: userNameKey(username) }
      const statement = createUser({ userId, ...names, displayName, issuer, subject }, note)
      return (await createAudited<UserRow>(database, statement)).map(toUser)[0]
    },

    /** @returns undefined if the identity is linked already, to whichever user */
    async link(userId: string, { issuer, subject }: IdentityKey, note: AuditNote): Promise<Identity | undefined> {
      return (await database.query<IdentityRow>(link({ issuer, subject, userId }, note))).map(toIdentity)[0]
    },

    /** Ends all sessions of the user, because some may have begun with the identity. @returns undefined if it is not linked */
    async unlink(userId: string, { issuer, subject }: IdentityKey, note: AuditNote): Promise<Identity | undefined> {
      return (await database.query<IdentityRow>(unlink({ issuer, subject, userId }, note))).map(toIdentity)[0]
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
