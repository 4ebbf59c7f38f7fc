import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'
import type { CanonicalName } from '@valetkey/sign-in-rules'
import { type AuditNote, defineChange } from '../../storage/postgres/audited.js'
import { AUTHORIZATION_GENERATION } from '../../storage/postgres/authorization-generation.js'
import { toBytea } from '../../storage/postgres/json-rows.js'

/** What a user allowed a client at the other server. */
type ImportedAccess = {
  clientId: string
  /** Undefined: the line names the user. */
  userId: string | undefined
  userName: CanonicalName
  scope: readonly string[]
  audience: string
  createdAt: Date
}

export type ImportedToken = ImportedAccess & { kind: 'token'; hash: Buffer; expiresAt: Date }

/** @property expiresAt undefined: the app need not ask again */
export type ImportedConsent = ImportedAccess & { kind: 'consent'; expiresAt: Date | undefined }

export type ImportedLine = ImportedToken | ImportedConsent

/** What the registry and the users say about a line. */
export type ExaminedLine = {
  /** It was imported before, or is a consent of a user who has decided here. Whether it still works does not matter. */
  isKnown: boolean
  hasClient: boolean
  clientDisabled: boolean
  issuesRefreshTokens: boolean
  remembersConsent: boolean
  /** Undefined: there is no such user. */
  userId: string | undefined
  userDisabled: boolean
  hasAudience: boolean
  /** The user, or an operator, has ended the access of the client here. */
  wasEnded: boolean
  /** The scopes that the client may have for this API, in the order of the line; never one that selects. */
  usableScope: readonly string[]
}

/** A line that can be stored. */
export type StorableLine<Line extends ImportedLine = ImportedLine> = Line & { line: number; storedUserId: string }

const COLUMNS = `number integer, token_hash bytea, user_id uuid, user_name text, client_id text, scope text[], audience text,
  created_at timestamptz, expires_at timestamptz`

const examineLines = defineStatement(
  'examine_imported_access',
  `select a.number,
    case when a.token_hash is null
      then exists (select from consents r where r.user_id = u.user_id and r.client_id = c.client_id and r.audience = a.audience)
      else exists (select from foreign_refresh_tokens f where f.token_hash = a.token_hash) end as is_known,
    c.client_id is not null as has_client, coalesce(c.disabled_at is not null, false) as client_disabled,
    coalesce(c.issues_refresh_tokens, false) as issues_refresh_tokens,
    coalesce(c.consent = 'remember' and c.type = 'confidential', false) as remembers_consent,
    u.user_id, coalesce(u.disabled_at is not null, false) as user_disabled,
    exists (select from resource_servers r where r.audience = a.audience) as has_audience,
    coalesce(u.authorization_generation + coalesce(n.generation, 0) > 0, false) as was_ended,
    coalesce(usable.scope, '{}') as usable_scope
  from json_to_recordset(:lines) as a (${COLUMNS})
  left join clients c on c.client_id = a.client_id
  left join lateral (
    select user_id, disabled_at, authorization_generation from users where user_id = a.user_id
    union all
    select user_id, disabled_at, authorization_generation from users
    where a.user_id is null and canonical_name = a.user_name
  ) as u on true
  left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id
  left join lateral (
    select array_agg(named.name order by named.position) as scope
    from unnest(a.scope) with ordinality as named (name, position)
    join scopes s on s.name = named.name and coalesce(s.audience, :defaultAudience) = a.audience and not s.selects
    where (c.audiences = '{}' or a.audience = any (c.audiences))
      and case c.origin when 'discovered' then s.is_discoverable
        else s.name = any (c.required_scopes) or s.name = any (c.optional_scopes) end
  ) as usable on true
  order by a.number`
)

/** Lines with a user, a client and the newest number of their scopes, all as they are now. */
const READY = `ready as (
    select a.token_hash, a.scope, a.audience, a.created_at, a.expires_at, u.user_id, c.client_id,
      u.generation as user_generation, c.generation as client_generation,
      ${AUTHORIZATION_GENERATION} as authorization_generation, newest.number as newest_scope, c.refresh_token_max_ttl
    from json_to_recordset(:lines) as a (${COLUMNS})
    join users u on u.user_id = a.user_id and u.disabled_at is null
    join clients c on c.client_id = a.client_id and c.disabled_at is null
    left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id
    join lateral (select max(s.number) as number from scopes s where s.name = any (a.scope)) as newest
      on newest.number is not null
    where u.authorization_generation + coalesce(n.generation, 0) = 0)`

/**
 * The grant has the hash of the token in place of that of a code, which it can never be: codes have a prefix of their own. No other
 * column tells it from a grant of this server, so that it ends in every way in which those end.
 */
const addTokens = defineChange(
  'import_refresh_tokens',
  `${READY}, changed as (
    insert into foreign_refresh_tokens (token_hash, expires_at)
    select token_hash, expires_at from ready order by token_hash
    on conflict do nothing returning token_hash
  ), opened as (
    insert into grants (grant_id, client_id, user_id, scope, newest_scope, audience, redirect_uri, code_hash, user_generation,
      client_generation, authorization_generation, created_at, redeemed_at, refreshable_until, expires_at)
    select gen_random_uuid(), r.client_id, r.user_id, r.scope, r.newest_scope, r.audience, '', r.token_hash, r.user_generation,
      r.client_generation, r.authorization_generation, least(r.created_at, now()), now(), ends.refreshable_until,
      least(r.expires_at, ends.refreshable_until)
    from changed join ready r on r.token_hash = changed.token_hash
    cross join lateral (
      select now() + make_interval(secs => least(r.refresh_token_max_ttl, :refreshTokenMaxTtl::integer)) as refreshable_until
    ) as ends
    order by r.token_hash
    returning grant_id, code_hash, user_generation, client_generation, created_at, expires_at
  ), stored as (
    insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at)
    select code_hash, grant_id, user_generation, client_generation, created_at, expires_at from opened
  )`,
  {
    details: `jsonb_build_object('count', (select count(*) from changed))`,
    result: 'select count(*)::integer as added from changed'
  }
)

/** What the user decided here stays. */
const addConsents = defineChange(
  'import_consents',
  `${READY}, changed as (
    insert into consents (user_id, client_id, audience, scope, newest_scope, granted_at, authorization_generation, ends_at)
    select distinct on (user_id, client_id, audience) user_id, client_id, audience, scope, newest_scope,
      least(created_at, now()), authorization_generation, expires_at
    from ready order by user_id, client_id, audience, created_at desc
    on conflict do nothing returning user_id
  )`,
  {
    details: `jsonb_build_object('count', (select count(*) from changed))`,
    result: 'select count(*)::integer as added from changed'
  }
)

/** @param settings of the service */
export function createTokenImportStore(
  database: Database,
  { resourceUrl, refreshTokenMaxTtl }: { resourceUrl: string; refreshTokenMaxTtl: number }
) {
  return {
    /** @returns what is known of each line, in their order */
    async examine(lines: readonly ImportedLine[]): Promise<ExaminedLine[]> {
      const statement = examineLines({ lines: JSON.stringify(lines.map(rowOf)), defaultAudience: resourceUrl })
      return (await database.query<ExaminedRow>({ ...statement, withinMs: LONG_STATEMENT_MS })).map(toExamined)
    },

    /** @returns how many were stored: without tokens that were imported before or meanwhile, and lines whose access has ended meanwhile */
    async addTokens(tokens: readonly StorableLine<ImportedToken>[], note: AuditNote): Promise<number> {
      const statement = addTokens({ lines: storedRows(tokens), refreshTokenMaxTtl }, note)
      return countOf(await database.query<{ added: number }>({ ...statement, withinMs: LONG_STATEMENT_MS }))
    },

    /** @returns how many were stored: without those whose user has decided here, or that were imported before */
    async addConsents(consents: readonly StorableLine<ImportedConsent>[], note: AuditNote): Promise<number> {
      const statement = addConsents({ lines: storedRows(consents) }, note)
      return countOf(await database.query<{ added: number }>({ ...statement, withinMs: LONG_STATEMENT_MS }))
    }
  }
}

export type TokenImportStore = ReturnType<typeof createTokenImportStore>

const countOf = (rows: readonly { added: number }[]) => rows[0]?.added ?? 0

function storedRows(lines: readonly StorableLine[]): string {
  return JSON.stringify(lines.map((line, number) => ({ ...rowOf(line, number), user_id: line.storedUserId })))
}

/** A row of `COLUMNS`. */
function rowOf(line: ImportedLine, number: number) {
  return {
    number,
    token_hash: line.kind === 'token' ? toBytea(line.hash) : undefined,
    user_id: line.userId,
    user_name: line.userName,
    client_id: line.clientId,
    scope: line.scope,
    audience: line.audience,
    created_at: line.createdAt,
    expires_at: line.expiresAt
  }
}

type ExaminedRow = {
  is_known: boolean
  has_client: boolean
  client_disabled: boolean
  issues_refresh_tokens: boolean
  remembers_consent: boolean
  user_id: string | null
  user_disabled: boolean
  has_audience: boolean
  was_ended: boolean
  usable_scope: string[]
}

function toExamined(row: ExaminedRow): ExaminedLine {
  return {
    isKnown: row.is_known,
    hasClient: row.has_client,
    clientDisabled: row.client_disabled,
    issuesRefreshTokens: row.issues_refresh_tokens,
    remembersConsent: row.remembers_consent,
    userId: row.user_id ?? undefined,
    userDisabled: row.user_disabled,
    hasAudience: row.has_audience,
    wasEnded: row.was_ended,
    usableScope: row.usable_scope
  }
}
