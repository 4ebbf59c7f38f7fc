// The rows that each design of the table of grants gets: live grants that expire within 90 days, and those of one day that has passed.

export const EXPIRED = 416_667
/** How often each statement is measured. */
export const TIMES = 200
/** Yesterday. */
export const PAST = -1
/** Grants expire so many days after their exchange. */
export const DAYS = 90
/** The day of the live grants in the measured statements. */
export const SAMPLE_DAY = 45
const USERS_PART = 10

const COLUMNS = `grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation, client_generation,
  created_at, newest_scope, redeemed_at, last_used_at, refreshable_until, expires_at`

/** @param tableOf the table of the grants of a day, if each day has one; else all are in `table` */
export async function fill(client, { table, tableOf, live }) {
  const groups = [
    ...range(1, DAYS).map((day) => ({ day, series: `generate_series(${numberOn(day)}, ${live}, ${DAYS})` })),
    { day: PAST, series: `generate_series(${live + 1}, ${live + EXPIRED})` }
  ]
  for (const { day, series } of groups) {
    await client.query(`insert into ${tableOf?.(day) ?? table} (${COLUMNS})
      select ${rowOf('number', { day, live })} from ${series} number`)
  }
}

/** SQL of the values of a measured statement. */
export function valuesOf(statement, run, live) {
  if (statement === 'open') return [String(live + EXPIRED + 1 + run)]
  const number = numberOn(SAMPLE_DAY) + DAYS * Math.floor((run * (live / DAYS - 1)) / TIMES)
  if (statement === 'by code') return [codeOf(number)]
  return statement === 'of a pair' ? [userOf(number, live), clientOf(number)] : [idOf(number)]
}

/** SQL of an insert of the grant $1 into a table. */
export const openIn = (table, conflict) => `insert into ${table} (${COLUMNS})
  select ${rowOf('$1::int', { day: SAMPLE_DAY, live: 1_000_000 })} on conflict (${conflict}) do nothing`

export const range = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** The start of a day, as SQL; 0 is today. */
export const startOf = (day) => `(current_date + ${day})::timestamptz`

/** The first live grant of a day; each DAYS-th after it is on the same day. */
const numberOn = (day) => day

function rowOf(number, { day, live }) {
  const end = `(${startOf(day)} + (${number}) % 86400 * interval '1 second')`
  const created = `(${end} - interval '${DAYS} days')`
  return `${idOf(number)}, ${clientOf(number)}, ${userOf(number, live)}, '{files.read}', 'https://files.example',
    'https://app.example/cb', ${codeOf(number)}, 0, 0, ${created}, 1, ${created}, ${created}, ${end}, ${end}`
}

const idOf = (number) => `md5('grant' || ${number})::uuid`
const codeOf = (number) => `sha256(('code' || ${number})::bytea)`
const userOf = (number, live) => `md5('user' || ${number} % ${Math.floor(live / USERS_PART)})::uuid`
const clientOf = (number) => `'client-' || ${number} % 7`
