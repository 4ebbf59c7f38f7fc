import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited } from './audited.js'
import type { IdentityKey } from './identities.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from './users.js'

/** The ways in that an account has besides its identities. */
export type SignInMeans = { hasPassword: boolean; passkeys: number }

/** Which ways count as a way in: those that are configured. */
export type ConfiguredWays = { issuers: readonly string[]; local: boolean }

/** Identities as users change them on their own account. */
export function createOwnIdentityStore(database: Database) {
  return {
    async readMeans(userId: string): Promise<SignInMeans> {
      const [row] = await database.query<{ has_password: boolean; passkeys: number }>({
        name: 'read_sign_in_means',
        text: `select password_hash is not null as has_password,
            (select count(*)::int from passkeys where passkeys.user_id = users.user_id) as passkeys
          from users where user_id = $1`,
        values: [userId]
      })
      return { hasPassword: row?.has_password ?? false, passkeys: row?.passkeys ?? 0 }
    },

    /**
     * Unlinks the identity unless it is the last configured way in. Ends all sessions of the user, because some may have begun
     * with the identity.
     * @returns the user after the change; undefined if nothing was changed
     */
    async unlink(
      userId: string,
      { issuer, subject }: IdentityKey,
      { issuers, local }: ConfiguredWays,
      note: AuditNote
    ): Promise<User | undefined> {
      const change = {
        name: 'unlink_own_identity',
        // The locks, in one order, make a parallel unlinking wait: two requests must not remove the last two ways in.
        parts: `own as (
            select issuer, subject from identities where user_id = $3 order by issuer, subject for update),
          keys as (select passkey_id from passkeys where user_id = $3 order by passkey_id for update),
          changed as (
            delete from identities where issuer = $1 and subject = $2 and user_id = $3 and (
              exists (select from own where (own.issuer, own.subject) <> ($1, $2) and own.issuer = any($4::text[]))
              or $5::boolean and (exists (select from keys)
                or exists (select from users where user_id = $3 and password_hash is not null)))
            returning user_id),
          ended as (
            update users set session_generation = session_generation + 1 from changed
            where users.user_id = changed.user_id returning ${USER_COLUMNS})`,
        result: 'select * from ended',
        values: [issuer, subject, userId, issuers, local]
      }
      return (await database.query<UserRow>(audited(change, note))).map(toUser)[0]
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
      const change = {
        name: 'redeem_invitation_with_identity',
        parts: `invited as (
            select ${USER_COLUMNS} from users join account_links using (user_id)
            where token_hash = $3 and purpose = 'invitation' and expires_at > now() and disabled_at is null
            for update of account_links),
          changed as (
            insert into identities (issuer, subject, user_id, created_at) select $1, $2, user_id, now() from invited
            on conflict (issuer, subject) do update set last_used_at = now() where identities.user_id = excluded.user_id
            returning user_id),
          spent as (delete from account_links using changed where account_links.user_id = changed.user_id)`,
        result: 'select invited.* from invited join changed using (user_id)',
        values: [issuer, subject, Buffer.from(tokenHash, 'base64url')]
      }
      return (await database.query<UserRow>(audited(change, note))).map(toUser)[0]
    }
  }
}

export type OwnIdentityStore = ReturnType<typeof createOwnIdentityStore>
