import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'

/** An app that got access. Names are as the app chose them. @property at RFC 3339 */
export type AccessNotice = {
  kind: 'access'
  at: string
  clientId: string
  name: string
  publisher?: string | undefined
  verified: boolean
  audience: string
  scope: readonly string[]
  /** Such as `Firefox, Linux`; empty if it is not known. */
  browser: string
}

type SignInNotice =
  | { kind: 'passkey_added'; at: string; name: string }
  | { kind: 'identity_linked'; at: string; issuer: string }
  | { kind: 'password_changed'; at: string }

/** What a mail says about one change of an account. */
export type SecurityNotice = AccessNotice | SignInNotice

/** A mail that this process sends now. */
export type ClaimedMail = {
  userId: string
  /** Only the process with it may finish the mail. */
  claim: string
  notices: readonly SecurityNotice[]
  /** Further changes, which were only counted. */
  omitted: number
  /** Tag of the language of the user's last Allow. */
  language: string | undefined
  username: string
  /** Undefined: the user is disabled or has no address, and gets no mail. */
  email: string | undefined
}

type NewAccess = {
  userId: string
  authorizationGeneration: number
  language: string
  notice: Omit<AccessNotice, 'at'>
}

/** Days in which a mail is tried. */
const TRIED_DAYS = 3
/** Seconds between two mails to one user, and until the first repetition of an attempt. */
const LEAST_SECONDS = 60
/** Seconds after which a mail of a process that stopped is sent by another. Longer than an attempt. */
const CLAIM_SECONDS = 300
const DROPPED_AT_ONCE = 1_000

type Row = {
  user_id: string
  claim: string
  notices: SecurityNotice[]
  omitted: number
  language: string | null
  username: string
  email: string | null
  disabled: boolean
}

/** The mails that wait, one row for each user. */
export function createSecurityMailStore(database: Database) {
  return { ...noteChanges(database), ...sendMails(database) }
}

export type SecurityMailStore = ReturnType<typeof createSecurityMailStore>

/**
 * The locks make the deletion of the user or the client wait, in the same order. An access from before the mails were switched on
 * has a grant or a remembered consent.
 */
const noteAccess = defineStatement(
  'note_new_access',
  `with allowed as (
    select u.user_id, c.client_id from users u cross join clients c
    where u.user_id = :userId and u.email is not null and c.client_id = :clientId
    for key share of u, c
  ), told as (
    insert into told_accesses (user_id, client_id, audience, authorization_generation)
    select user_id, client_id, :audience, :generation from allowed
    on conflict (user_id, client_id, audience) do update set authorization_generation = excluded.authorization_generation
    where told_accesses.authorization_generation <> excluded.authorization_generation
    returning user_id, client_id, audience, authorization_generation
  )
  select add_security_notice(t.user_id, :language, :notice) as noted from told t
  where not exists (
    select from grants g where g.user_id = t.user_id and g.client_id = t.client_id and g.audience = t.audience
      and g.authorization_generation = t.authorization_generation)
  and not exists (
    select from consents r where r.user_id = t.user_id and r.client_id = t.client_id and r.audience = t.audience
      and r.authorization_generation = t.authorization_generation)`
)

function noteChanges(database: Database) {
  return {
    /**
     * Notes the access unless the user has been told, or has no address. Of concurrent calls, one notes it.
     * @returns whether there is something to send
     */
    async noteAccess({ userId, authorizationGeneration, language, notice }: NewAccess): Promise<boolean> {
      const { clientId, audience } = notice
      const values = { userId, clientId, audience, generation: authorizationGeneration, language }
      return (await database.query(noteAccess({ ...values, notice: JSON.stringify(notice) }))).length > 0
    },

    /** Lets the triggers of the database note changes for another day. */
    async staySwitchedOn(): Promise<void> {
      await database.query({
        name: 'extend_security_mail_senders',
        text: `insert into security_mail_senders (active_until) values (now() + interval '1 day')
          on conflict (is_only) do update set active_until = excluded.active_until`,
        values: []
      })
    }
  }
}

const claimMails = defineStatement(
  'claim_security_mails',
  `with due as (
    select user_id from security_mails
    where waiting_since > now() - interval '${TRIED_DAYS} days' and next_mail_at <= now()
    order by next_mail_at limit :most for update skip locked)
  update security_mails m set claim = gen_random_uuid(), next_mail_at = now() + interval '${CLAIM_SECONDS} seconds'
  from due join users u on u.user_id = due.user_id where m.user_id = due.user_id
  returning m.user_id, m.claim, m.notices, m.omitted, m.language, u.username, u.email, u.disabled_at is not null as disabled`
)

/** Notices that were added meanwhile stay for the next mail. */
const finishMail = defineStatement(
  'finish_security_mail',
  `update security_mails set
    notices = coalesce((select jsonb_agg(e.notice order by e.number)
      from jsonb_array_elements(notices) with ordinality as e (notice, number) where e.number > :count::integer), '[]'),
    omitted = omitted - :omitted::integer,
    waiting_since = case when jsonb_array_length(notices) > :count::integer or omitted > :omitted::integer then now() end,
    next_mail_at = now() + interval '${LEAST_SECONDS} seconds', failures = 0, claim = null
  where user_id = :userId and claim = :claim`
)

const postponeMail = defineStatement(
  'postpone_security_mail',
  `update security_mails set failures = failures + 1, claim = null,
    next_mail_at = now() + least(interval '1 hour', interval '${LEAST_SECONDS} seconds' * 2 ^ least(failures, 10))
  where user_id = :userId and claim = :claim`
)

function sendMails(database: Database) {
  return {
    /** Takes due mails for this process, the oldest first. Concurrent calls get different ones, and none waits for another. */
    async claim(most: number): Promise<ClaimedMail[]> {
      return (await database.query<Row>(claimMails({ most }))).map(toClaimedMail)
    },

    /** Removes what was sent, unless another process has taken the mail over. The next mail to the user is at least a minute later. */
    async finish({ userId, claim, notices, omitted }: ClaimedMail): Promise<void> {
      await database.query(finishMail({ userId, claim, omitted, count: notices.length }))
    },

    /** Keeps the mail for a later attempt: after one minute, then two, four …, at most an hour. */
    async postpone({ userId, claim }: ClaimedMail): Promise<void> {
      await database.query(postponeMail({ userId, claim }))
    },

    /** Drops mails that could not be sent for three days, in a batch. @returns how many; a full batch has 1,000 */
    async dropOld(): Promise<{ dropped: number; isFull: boolean }> {
      const rows = await database.query({
        name: 'drop_old_security_mails',
        text: `update security_mails set notices = '[]', omitted = 0, waiting_since = null, failures = 0, claim = null
          where user_id = any (array(
            select user_id from security_mails where waiting_since <= now() - interval '${TRIED_DAYS} days'
            limit ${DROPPED_AT_ONCE} for update skip locked
          )) returning 1 as dropped`,
        values: [],
        withinMs: LONG_STATEMENT_MS
      })
      return { dropped: rows.length, isFull: rows.length === DROPPED_AT_ONCE }
    }
  }
}

function toClaimedMail(row: Row): ClaimedMail {
  return {
    userId: row.user_id,
    claim: row.claim,
    notices: row.notices,
    omitted: row.omitted,
    language: row.language ?? undefined,
    username: row.username,
    email: row.disabled ? undefined : (row.email ?? undefined)
  }
}
