import { type Database, LONG_STATEMENT_MS } from '@valetkey/service-kit'

const BATCH = 1_000
/**
 * The batch of expired grants and tokens, whose locks delay no request. Gain: a fifth less time per row than batches of 1,000
 * (ADR 0025, `npm run bench:scale`).
 */
const LARGE_BATCH = 10_000

/**
 * Deletes expired rows by Postgres's clock, in batches that hold locks only for a short time. Several processes can do this
 * concurrently without waiting for each other.
 * @param retention.auditRetentionDays how long audit events are kept; 0: for ever
 */
export function createExpiredRows(database: Database, { auditRetentionDays } = { auditRetentionDays: 0 }) {
  return {
    /** @returns whether a batch was full, so more rows are likely */
    async deleteSome(): Promise<boolean> {
      const [tokens, grants] = [await deleteRefreshTokens(database), await deleteGrants(database)]
      const events = await deleteAuditEvents(database, auditRetentionDays)
      const clients = await deleteUnusedClients(database)
      const logos = await deleteUnusedLogos(database)
      const sessions = await deleteSessions(database)
      return tokens === LARGE_BATCH || grants === LARGE_BATCH || [events, clients, logos, sessions].includes(BATCH)
    },

    /** Erases stored refresh responses whose retry window has ended. @returns as `deleteSome` */
    async eraseSomeRetryResponses(): Promise<boolean> {
      const rows = await database.query({
        name: 'erase_retry_responses',
        text: `update refresh_tokens set retry_response = null where ctid = any (array(
            select ctid from refresh_tokens where retry_until <= now() and retry_response is not null
            limit ${BATCH} for update skip locked
          )) returning 1 as erased`,
        values: [],
        withinMs: LONG_STATEMENT_MS
      })
      return rows.length === BATCH
    }
  }
}

export type ExpiredRows = ReturnType<typeof createExpiredRows>

/** A rotated token is kept until it expires, to detect its reuse, and until its retry window ends. */
async function deleteRefreshTokens(database: Database): Promise<number> {
  const rows = await database.query({
    name: 'delete_expired_refresh_tokens',
    text: `delete from refresh_tokens where ctid = any (array(
        select ctid from refresh_tokens where expires_at <= now() and not (retry_until is not null and retry_until > now())
        limit ${LARGE_BATCH} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}

/** A grant that was refreshed is not deleted: its `expires_at` becomes the end that the refreshes set. */
async function deleteGrants(database: Database): Promise<number> {
  const rows = await database.query({
    name: 'delete_expired_grants',
    text: `with due as (
        select ctid, extended_until is not null and extended_until > now() as is_extended from grants
        where expires_at <= now() limit ${LARGE_BATCH} for update skip locked
      ), extended as (
        update grants set expires_at = extended_until
        where ctid = any (array(select ctid from due where is_extended))
      ), deleted as (
        delete from grants where ctid = any (array(select ctid from due where not is_extended))
      )
      select 1 as handled from due`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}

async function deleteAuditEvents(database: Database, retentionDays: number): Promise<number> {
  if (retentionDays === 0) return 0
  const rows = await database.query({
    name: 'delete_old_audit_events',
    text: `delete from audit_events where ctid = any (array(
        select ctid from audit_events where occurred_at < now() - make_interval(days => $1) order by occurred_at limit ${BATCH} for update skip locked
      )) returning 1 as deleted`,
    values: [retentionDays],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}

/**
 * Deletes discovered clients without grants, so that users cannot fill the table and the registry; the next Allow creates them
 * again. A disabled one is kept. A day after the last Allow, no code of it is left.
 */
async function deleteUnusedClients(database: Database): Promise<number> {
  const rows = await database.query({
    name: 'delete_unused_clients',
    text: `delete from clients where client_id = any (array(
        select c.client_id from clients c
        where c.origin = 'discovered' and c.disabled_at is null and c.last_allowed_at < now() - interval '1 day'
          and not exists (select 1 from grants g where g.client_id = c.client_id)
        order by c.client_id limit ${BATCH} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}

/**
 * Deletes logos that no client shows. A logo is stored before its client is changed, which takes less than a day. A pending change
 * of an app also keeps its logo.
 */
async function deleteUnusedLogos(database: Database): Promise<number> {
  const rows = await database.query({
    name: 'delete_unused_logos',
    text: `delete from client_logos where hash = any (array(
        select l.hash from client_logos l
        where l.created_at < now() - interval '1 day'
          and not exists (select 1 from clients c where c.logo = l.hash)
          and not exists (select 1 from developer_apps a where a.pending_logo = l.hash)
        order by l.hash limit ${BATCH} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}

/** A session that is not used ends earlier, but its row stays until then: an index of the last use would cost each use a write. */
async function deleteSessions(database: Database): Promise<number> {
  const rows = await database.query({
    name: 'delete_expired_sessions',
    text: `delete from sessions where session_hash = any (array(
        select session_hash from sessions where ends_at <= now() limit ${BATCH} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length
}
