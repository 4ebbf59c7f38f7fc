// Rows of the tables of Postgres, and the pages that requests change. Pure.
const DAY = 86_400
const PAGE_BYTES = 8_192
/** A table of access tokens is dropped when its hour has been over for ten minutes (ADR 0017). */
const BUCKET_SECONDS = 3_600
const DROPPED_AFTER_SECONDS = 600

/**
 * @param mean requests a second, mean over the day
 * @returns the rows of each table in the steady state
 */
export function rowsOf(input, mean, { auditRows }) {
  const issued = mean.authorization + mean.refresh
  const audited = Object.entries(mean).reduce(
    (total, [operation, rate]) => total + rate * (auditRows[operation] ?? 0),
    0
  )
  return {
    users: input.users,
    grants: mean.authorization * input['grant-days'] * DAY,
    // A rotated token stays until it would have expired, so that its reuse is detected.
    refresh_tokens: issued * input['refresh-days'] * DAY,
    access_tokens: issued * (input['token-seconds'] + BUCKET_SECONDS / 2 + DROPPED_AFTER_SECONDS),
    audit_events: audited * input['audit-days'] * DAY
  }
}

/** @returns for each table: `rows`, `heap` and `indexes`, the bytes of the table and of each of its indexes */
export function bytesOfTables(rows, { rowBytes }) {
  return Object.fromEntries(
    Object.entries(rows).map(([table, count]) => {
      const { heap, indexes } = rowBytes[table]
      const bytesOfIndexes = Object.fromEntries(Object.entries(indexes).map(([name, bytes]) => [name, count * bytes]))
      return [table, { rows: count, heap: count * heap, indexes: bytesOfIndexes }]
    })
  )
}

/** Bytes of some tables with their indexes. */
export function totalBytes(tables) {
  const sum = (values) => values.reduce((total, value) => total + value, 0)
  return sum(Object.values(tables).map(({ heap, indexes }) => heap + sum(Object.values(indexes))))
}

/**
 * Pages that one request of an operation changes at a random place: of the table (`heap`) or of an index over random
 * values. Other changes go to the last page of the table or index, which many requests share.
 */
const RANDOM_PAGES = [
  { table: 'grants', part: 'grants_pkey', changes: { authorization: 1 } },
  { table: 'grants', part: 'grants_code_hash_key', changes: { authorization: 1 } },
  { table: 'grants', part: 'grants_user_id', changes: { authorization: 1 } },
  { table: 'grants', part: 'heap', changes: { refresh: 1 } },
  { table: 'access_tokens', part: 'pkey', changes: { authorization: 1, refresh: 1, revocation: 1 } },
  { table: 'access_tokens', part: 'heap', changes: { revocation: 1 } },
  // A refresh changes the row of the old token, and erases the response in that of its predecessor: new versions of both.
  { table: 'refresh_tokens', part: 'refresh_tokens_pkey', changes: { authorization: 1, refresh: 3 } },
  { table: 'refresh_tokens', part: 'heap', changes: { refresh: 2 } },
  // Request ids are random.
  {
    table: 'audit_events',
    part: 'audit_events_request_id',
    changes: { authorization: 2, refresh: 1, revocation: 1, signIn: 1 }
  },
  { table: 'users', part: 'heap', changes: { signIn: 1 } }
]

/**
 * Postgres writes a whole page to its log at the first change after a checkpoint.
 * @param tables see bytesOfTables
 * @param seconds between two checkpoints
 * @returns whole pages between two checkpoints
 */
export function pageImages(rates, tables, seconds) {
  return RANDOM_PAGES.reduce((total, { table, part, changes }) => {
    const { heap, indexes } = tables[table]
    const pages = (part === 'heap' ? heap : indexes[part]) / PAGE_BYTES
    const perSecond = Object.entries(changes).reduce((all, [operation, count]) => all + rates[operation] * count, 0)
    return pages === 0 ? total : total + pages * -Math.expm1((-perSecond * seconds) / pages)
  }, 0)
}
