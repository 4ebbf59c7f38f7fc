// Designs of the table of grants. Each has the statements of a request: look-ups by grant and by code, the grants of a user and a
// client (an exchange ends the oldest of too many), a new grant, and the change by a refresh.
import { deleteExpiredRows } from '../lib/expire.mjs'
import { DAYS, openIn, PAST, range, SAMPLE_DAY, startOf } from './rows.mjs'

/** As in the service. */
const ROWS_AT_ONCE = 10_000
/** About as many rows. */
const PAGES_AT_ONCE = 300

const find = (table) => ({
  'by grant': `select scope from ${table} where grant_id = $1`,
  'by code': `select scope from ${table} where code_hash = $1`,
  'of a pair': `select grant_id from ${table} where user_id = $1 and client_id = $2 and ended_at is null
    order by created_at desc offset 50 limit 10`
})

const refresh = (table) =>
  `update ${table} set last_used_at = now(), extended_until = now() + interval '100 days' where grant_id = $1`

const statementsOf = (table, conflict = 'code_hash') => ({
  ...find(table),
  open: openIn(table, conflict),
  refresh: refresh(table)
})

const copy = (table) => [`create table ${table} (like grants including all)`]
const dropping = (table) => [`drop table ${table} cascade`]

export const DESIGNS = [
  {
    name: 'one table, batches by the index of ends (present)',
    table: 'grants',
    create: [],
    statements: statementsOf('grants'),
    remove: (_client, databaseUrl) => deleteExpiredRows(databaseUrl),
    drop: ['truncate grants']
  },
  {
    name: 'one table, batches by the index of ends, not locked first',
    table: 'not_locked',
    create: copy('not_locked'),
    statements: statementsOf('not_locked'),
    remove: (client) => deleteByEnds(client, 'not_locked'),
    drop: dropping('not_locked')
  },
  {
    name: 'one table, batches by ranges of pages',
    table: 'by_pages',
    create: copy('by_pages'),
    statements: statementsOf('by_pages'),
    remove: (client) => deleteByPages(client, 'by_pages'),
    drop: dropping('by_pages')
  },
  {
    name: 'one table with only the keys of grant and code, by ranges of pages',
    table: 'only_keys',
    create: [
      'create table only_keys (like grants including defaults including constraints including storage)',
      'alter table only_keys set (fillfactor = 90)'
    ],
    index: ['alter table only_keys add primary key (grant_id), add unique (code_hash)'],
    statements: statementsOf('only_keys'),
    remove: (client) => deleteByPages(client, 'only_keys'),
    drop: dropping('only_keys')
  },
  {
    name: 'partitions by the day of the end, dropped',
    table: 'by_end',
    create: [
      'create table by_end (like grants including defaults) partition by range (expires_at)',
      ...[PAST, ...range(1, DAYS + 1)].map(
        (day) => `create table by_end_${nameOf(day)} partition of by_end
          for values from (${startOf(day)}) to (${startOf(day + 1)}) with (fillfactor = 90)`
      )
    ],
    index: [
      // A unique key of a partitioned table contains the column of the partitions.
      'alter table by_end add primary key (grant_id, expires_at), add unique (code_hash, expires_at)',
      'create index on by_end (user_id, client_id)',
      'create index on by_end (user_id, client_id, created_at) where ended_at is null',
      'create index on by_end (client_id, audience)'
    ],
    statements: {
      ...statementsOf('by_end', 'code_hash, expires_at'),
      refresh: `update by_end set last_used_at = now(), expires_at = expires_at + interval '1 day' where grant_id = $1`
    },
    remove: (client) => client.query(`drop table by_end_${nameOf(PAST)}`),
    drop: dropping('by_end')
  },
  {
    name: 'tables by the day of the exchange, named by code and tokens, dropped',
    table: 'by_exchange',
    create: [
      ...copy('by_exchange'),
      ...[PAST, ...range(1, DAYS)].map(
        (day) => `create table by_exchange_${nameOf(day)} (like grants including all) inherits (by_exchange)`
      )
    ],
    tableOf: (day) => `by_exchange_${nameOf(day)}`,
    statements: {
      ...statementsOf(`by_exchange_${nameOf(SAMPLE_DAY)}`),
      // The grants of a user and a client are in the tables of all days.
      'of a pair': find('by_exchange')['of a pair']
    },
    remove: (client) => client.query(`drop table by_exchange_${nameOf(PAST)}`),
    drop: dropping('by_exchange')
  }
]

async function deleteByEnds(client, table) {
  const text = `delete from ${table} where ctid = any (array(
      select ctid from ${table} where expires_at <= now() and (extended_until is null or extended_until <= now())
      limit ${ROWS_AT_ONCE}))`
  while ((await client.query(text)).rowCount === ROWS_AT_ONCE);
}

async function deleteByPages(client, table) {
  const { rows } = await client.query(`select pg_relation_size('${table}') / 8192 as pages`)
  for (let first = 0; first < Number(rows[0].pages); first += PAGES_AT_ONCE) {
    await client.query(`delete from ${table} where ctid >= '(${first},0)' and ctid < '(${first + PAGES_AT_ONCE},0)'
      and expires_at <= now() and (extended_until is null or extended_until <= now())`)
  }
}

function nameOf(day) {
  return day === PAST ? 'past' : String(day)
}
