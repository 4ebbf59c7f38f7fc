import { type Database, defineStatement } from '@valetkey/service-kit'
import { type AuditNote, defineChange } from '../../storage/postgres/audited.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from '../../storage/postgres/users.js'

export type AccountLinkPurpose = 'invitation' | 'password_reset'

export type AccountLink = { user: User; purpose: AccountLinkPurpose; expiresAt: Date }

type LinkRow = UserRow & { purpose: AccountLinkPurpose; expires_at: Date }

const addLink = defineChange(
  'add_account_link',
  `changed as (
    insert into account_links (user_id, token_hash, purpose, expires_at)
    select user_id, :tokenHash, :purpose, now() + make_interval(secs => :seconds)
    from users where user_id = :userId and disabled_at is null
    on conflict (user_id) do update
      set token_hash = excluded.token_hash, purpose = excluded.purpose, expires_at = excluded.expires_at
    returning expires_at)`,
  { result: 'select expires_at from changed' }
)

const redeemLink = defineStatement(
  'redeem_account_link',
  `with taken as (
    delete from account_links using users
    where token_hash = :tokenHash and expires_at > now() and users.user_id = account_links.user_id and disabled_at is null
    returning account_links.user_id)
  update users set password_hash = :passwordHash, session_generation = session_generation + 1,
    authorization_generation = authorization_generation + case when :endsAccess::boolean then 1 else 0 end
  from taken where users.user_id = taken.user_id and disabled_at is null
  returning ${USER_COLUMNS}`
)

/** Links that operators give to users. Links of disabled users and expired links count as unknown. */
export function createAccountLinkStore(database: Database) {
  return {
    /** Ends the earlier link of the user. @returns when the link expires; undefined if there is no enabled user with that id */
    async add(
      link: { userId: string; tokenHash: Buffer; purpose: AccountLinkPurpose; seconds: number },
      note: AuditNote
    ): Promise<Date | undefined> {
      return (await database.query<{ expires_at: Date }>(addLink(link, note)))[0]?.expires_at
    },

    /** Changes nothing: programs that scan mails open links. */
    async find(tokenHash: Buffer): Promise<AccountLink | undefined> {
      const rows = await database.query<LinkRow>({
        name: 'find_account_link',
        text: `select ${USER_COLUMNS}, purpose, expires_at from account_links join users using (user_id)
          where token_hash = $1 and expires_at > now() and disabled_at is null`,
        values: [tokenHash]
      })
      return rows.map((row) => ({ user: toUser(row), purpose: row.purpose, expiresAt: row.expires_at }))[0]
    },

    /**
     * Takes the link, sets the password and ends all sessions, in one statement: of two requests with the same link, one succeeds.
     * @param change.endsAccess whether the access of all apps ends as well
     * @returns the user after the change; undefined if the link is unknown, used or expired
     */
    async redeem(tokenHash: Buffer, change: { passwordHash: string; endsAccess: boolean }): Promise<User | undefined> {
      return (await database.query<UserRow>(redeemLink({ ...change, tokenHash }))).map(toUser)[0]
    }
  }
}

export type AccountLinkStore = ReturnType<typeof createAccountLinkStore>
