import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../../storage/postgres/audited.js'
import { ACTING_USER, type ActingSession } from '../../../storage/postgres/live-session.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from '../../../storage/postgres/users.js'
import type { IdentityKey } from './identity-store.js'

const link = defineChange(
  'link_own_identity',
  `owner as (${ACTING_USER}),
  changed as (
    insert into identities (issuer, subject, user_id, created_at) select :issuer, :subject, user_id, now() from owner
    on conflict do nothing returning user_id)`
)

const unlink = defineChange(
  'unlink_own_identity',
  `acting as (${ACTING_USER}),
  ended as (
    update users set session_generation = session_generation + 1 from acting
    where users.user_id = acting.user_id
      and exists (select from identities where issuer = :issuer and subject = :subject and user_id = acting.user_id)
    returning ${USER_COLUMNS}),
  changed as (
    delete from identities where issuer = :issuer and subject = :subject and user_id in (select user_id from ended)
    returning user_id)`,
  { result: 'select * from ended' }
)

const redeemInvitation = defineChange(
  'redeem_invitation_with_identity',
  `invited as (
    select ${USER_COLUMNS} from users join account_links using (user_id)
    where token_hash = :tokenHash and purpose = 'invitation' and expires_at > now() and disabled_at is null
    for update of account_links),
  changed as (
    insert into identities (issuer, subject, user_id, created_at) select :issuer, :subject, user_id, now() from invited
    on conflict (issuer, subject) do update set last_used_at = now() where identities.user_id = excluded.user_id
    returning user_id),
  spent as (delete from account_links using changed where account_links.user_id = changed.user_id)`,
  { result: 'select invited.* from invited join changed using (user_id)' }
)

/** Identities as users change them on their own account. */
export function createOwnIdentityStore(database: Database) {
  return {
    /**
     * @param session in which the user links it: if it has ended meanwhile, the identity must not outlive it
     * @returns whether it was linked; false also if it is linked already
     */
    async link(
      { userId, sessionHash }: ActingSession,
      { issuer, subject }: IdentityKey,
      note: AuditNote
    ): Promise<boolean> {
      return makeAudited(database, link({ userId, sessionHash, issuer, subject }, note))
    },

    /**
     * Unlinks the identity and ends all sessions of the user, because some may have begun with it. Removals of ways of the same
     * user take effect one after the other: each needs the session that it was decided in.
     * @returns the user after the change; undefined if the identity is not linked, or the session has ended
     */
    async unlink(
      { userId, sessionHash }: ActingSession,
      { issuer, subject }: IdentityKey,
      note: AuditNote
    ): Promise<User | undefined> {
      const statement = unlink({ userId, sessionHash, issuer, subject }, note)
      return (await database.query<UserRow>(statement)).map(toUser)[0]
    },

    /** The enabled user whom an invitation is for. @returns undefined if the invitation is unknown, used or expired */
    async findInvited(tokenHash: string): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_invited_user',
        text: `select ${USER_COLUMNS} from users join account_links using (user_id)
          where token_hash = $1 and purpose = 'invitation' and expires_at > now() and disabled_at is null`,
        values: [Buffer.from(tokenHash, 'base64url')]
      })
      return rows.map(toUser)[0]
    },

    /**
     * Spends an invitation and links the identity in one statement. An identity that is linked to another user leaves the
     * invitation unspent.
     * @returns the user; undefined if nothing was changed
     */
    async redeemInvitation(
      tokenHash: string,
      { issuer, subject }: IdentityKey,
      note: AuditNote
    ): Promise<User | undefined> {
      const statement = redeemInvitation({ tokenHash: Buffer.from(tokenHash, 'base64url'), issuer, subject }, note)
      return (await database.query<UserRow>(statement)).map(toUser)[0]
    }
  }
}

export type OwnIdentityStore = ReturnType<typeof createOwnIdentityStore>
