import type { Database } from '@valetkey/service-kit'

const BATCH = 1_000

const DAY_MS = 86_400_000

/**
 * Deletes what has expired, in small batches that hold no lock for long and that instances share without waiting.
 * @param retention.auditRetentionDays how long audit events are kept; 0: for ever
 */
export function createExpiredRows(database: Database, { auditRetentionDays } = { auditRetentionDays: 0 }) {
  async function deleteBatch(
    table: 'grants' | 'access_tokens' | 'refresh_tokens',
    now: Date,
    butNot = 'false'
  ): Promise<number> {
    const rows = await database.query({
      name: `delete_expired_${table}`,
      // `only`: a place is that of one table, and has other rows in those that inherit from it.
      text: `delete from only ${table} where ctid = any (array(
          select ctid from only ${table} where expires_at <= $1 and not (${butNot}) limit ${BATCH} for update skip locked
        )) returning 1 as deleted`,
      values: [now]
    })
    return rows.length
  }

  async function deleteAuditBatch(now: Date): Promise<number> {
    if (auditRetentionDays === 0) return 0
    const rows = await database.query({
      name: 'delete_old_audit_events',
      text: `delete from audit_events where ctid = any (array(
          select ctid from audit_events where occurred_at < $1 order by occurred_at limit ${BATCH} for update skip locked
        )) returning 1 as deleted`,
      values: [new Date(now.getTime() - auditRetentionDays * DAY_MS)]
    })
    return rows.length
  }

  return {
    /** @returns whether a batch was full, so that there is likely more */
    async deleteSome(now: Date): Promise<boolean> {
      // Of access tokens, those of a release that knew no buckets. A rotated refresh token stays until it would have expired:
      // until then its reuse must be noticed, and its answer may be fetched once more until the window closes.
      const deleted = [
        await deleteBatch('access_tokens', now),
        await deleteBatch('refresh_tokens', now, 'retry_until is not null and retry_until > $1'),
        await deleteBatch('grants', now),
        await deleteAuditBatch(now)
      ]
      return deleted.some((count) => count === BATCH)
    },

    /** Erases stored refresh answers whose window has closed. @returns as `deleteSome` */
    async eraseSomeRetryAnswers(now: Date): Promise<boolean> {
      const rows = await database.query({
        name: 'erase_retry_answers',
        text: `update refresh_tokens set retry_answer = null where ctid = any (array(
            select ctid from refresh_tokens where retry_until <= $1 and retry_answer is not null
            limit ${BATCH} for update skip locked
          )) returning 1 as erased`,
        values: [now]
      })
      return rows.length === BATCH
    }
  }
}

export type ExpiredRows = ReturnType<typeof createExpiredRows>
