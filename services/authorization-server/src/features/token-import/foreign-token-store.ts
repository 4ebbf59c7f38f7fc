import type { TokenHash } from '@valetkey/oauth-protocol'
import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'

const DELETED_AT_ONCE = 1_000

const findToken = defineStatement(
  'find_foreign_refresh_token',
  `select (select token_hash from foreign_refresh_tokens where token_hash = any (:hashes::bytea[]) limit 1) as token_hash,
    not exists (select from foreign_refresh_tokens) as is_empty`
)

/** The hashes of refresh tokens that another server issued. */
export function createForeignTokenStore(database: Database) {
  return {
    /** @returns which of the hashes is known, and whether none is, of any token */
    async find(hashes: readonly TokenHash[]): Promise<{ found: Buffer | undefined; isEmpty: boolean }> {
      const [row] = await database.query<{ token_hash: Buffer | null; is_empty: boolean }>(findToken({ hashes }))
      return { found: row?.token_hash ?? undefined, isEmpty: row?.is_empty ?? true }
    }
  }
}

export type ForeignTokenStore = ReturnType<typeof createForeignTokenStore>

/** @returns whether the batch was full */
export async function deleteExpiredForeignTokens(database: Database): Promise<boolean> {
  const rows = await database.query({
    name: 'delete_expired_foreign_tokens',
    text: `delete from foreign_refresh_tokens where ctid = any (array(
        select ctid from foreign_refresh_tokens where expires_at <= now() limit ${DELETED_AT_ONCE} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length === DELETED_AT_ONCE
}
