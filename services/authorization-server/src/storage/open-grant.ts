import { formatScope, type TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, gatherWrites } from '@valetkey/service-kit'

/** What a user has just allowed, or had allowed before. */
export type NewGrant = {
  grantId: string
  clientId: string
  userId: string
  /** The generations that the session was opened under: a session that has ended meanwhile allows nothing. */
  userGeneration: number
  sessionGeneration: number
  scope: readonly string[]
  /** `remembered`: nobody was asked this time, so the scope has to be within what this user allowed this client before. */
  consent: 'given' | 'remembered'
  audience: string
  redirectUri: string
  codeChallenge: string | undefined
  codeDigest: TokenDigest
  createdAt: Date
  /** When the row may leave if the code is never redeemed. */
  expiresAt: Date
}

export type OpenGrant = ReturnType<typeof createGrantOpening>

/**
 * Opens grants; those that are opened at the same time share a statement. It waits for nobody: users, clients and consents
 * are only read, and no two rows have a key in common.
 */
export function createGrantOpening(database: Database, onBatch?: (size: number) => void) {
  async function openAll(grants: readonly NewGrant[]): Promise<readonly boolean[]> {
    const rows = await database.query<{ grant_id: string }>({
      name: 'open_grant',
      text: TEXT,
      values: columnsOf(grants)
    })
    const opened = new Set(rows.map((row) => row.grant_id))
    return grants.map(({ grantId }) => opened.has(grantId))
  }

  const open = gatherWrites(openAll, onBatch)

  /**
   * Writes the grant with the generations of its user and client as they are now.
   * @returns false when the user or the client has been disabled or deleted, one of the user's generations has moved on, or
   *   what is remembered does not cover the scope
   */
  return (grant: NewGrant): Promise<boolean> => open(grant)
}

// An array of arrays would come out as one row for each scope, so a scope travels as RFC 6749 §3.3 writes it.
const TEXT = `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_challenge, code_hash,
    user_generation, client_generation, created_at, expires_at)
  select a.grant_id, c.client_id, u.user_id, string_to_array(a.scope, ' '), a.audience, a.redirect_uri, a.code_challenge,
    a.code_hash, u.generation, c.generation, a.created_at, a.expires_at
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::text[],
      $9::text[], $10::text[], $11::bytea[], $12::timestamptz[], $13::timestamptz[])
    as a (grant_id, client_id, user_id, user_generation, session_generation, scope, consent, audience,
      redirect_uri, code_challenge, code_hash, created_at, expires_at)
  join users u on u.user_id = a.user_id and u.generation = a.user_generation
    and u.session_generation = a.session_generation and u.disabled_at is null
  join clients c on c.client_id = a.client_id and c.disabled_at is null
  left join consents r on r.user_id = u.user_id and r.client_id = c.client_id
  where a.consent = 'given' or r.scope @> string_to_array(a.scope, ' ')
  returning grant_id`

function columnsOf(grants: readonly NewGrant[]): readonly unknown[] {
  return [
    grants.map(({ grantId }) => grantId),
    grants.map(({ clientId }) => clientId),
    grants.map(({ userId }) => userId),
    grants.map(({ userGeneration }) => userGeneration),
    grants.map(({ sessionGeneration }) => sessionGeneration),
    grants.map(({ scope }) => formatScope(scope)),
    grants.map(({ consent }) => consent),
    grants.map(({ audience }) => audience),
    grants.map(({ redirectUri }) => redirectUri),
    grants.map(({ codeChallenge }) => codeChallenge ?? null),
    grants.map(({ codeDigest }) => codeDigest),
    grants.map(({ createdAt }) => createdAt.toISOString()),
    grants.map(({ expiresAt }) => expiresAt.toISOString())
  ]
}
