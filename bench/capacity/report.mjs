// The model's results as tables.
import { table } from '../lib/figures.mjs'
import { totalBytes } from './rows.mjs'

/** @param predicted see predict */
export function needsTable(predicted) {
  const { processes, cores, connections, memory, redisBytes, commands, wal, feed, auditRowsPerDay } = predicted
  const rows = [
    ['authorization servers', `${processes.authorizationServers} processes, ${short(cores.authorizationServer)} cores`],
    ['resource servers', `${processes.resourceServers} processes, ${short(cores.resourceServer)} cores`],
    ['their memory', bytesText(memory)],
    ['Postgres', `${short(cores.postgres)} cores`],
    ['connections to Postgres', `at most ${connections.all}; with a pooler ${connections.direct} direct ones`],
    ...Object.entries(predicted.tables).map(([name, one]) => [
      `table \`${name}\``,
      `${count(one.rows)} rows, ${bytesText(one.heap)} and ${bytesText(totalBytes({ one }) - one.heap)} of indexes`
    ]),
    ['tables and indexes', bytesText(totalBytes(predicted.tables))],
    [
      'log of Postgres (WAL)',
      `${bytesText(wal.bytes)}/s, of which ${bytesText(wal.bytes - wal.records)}/s whole pages`
    ],
    ['Redis', `${short(cores.redis)} cores, ${count(commands)} commands/s, ${bytesText(redisBytes)}`],
    ['introspections that the cache saves', `${(predicted.hitRatio * 100).toFixed(1)} %`],
    [
      'revocation feed',
      `${short(feed.notifications)} notifications/s, ${short(feed.deliveries)} deliveries/s, ${short(feed.events)} events/s`
    ],
    ['audit events', `${count(auditRowsPerDay)} a day`]
  ]
  return table(['at the busiest time', ''], rows)
}

/** @param resources see growth */
export function growthTable(resources, factors) {
  const head = ['one engine has', 'limit', ...factors.map((factor) => `${count(factor)} ×`), 'reached at']
  const rows = resources.map(({ name, limit, values, breaksAt }) => [
    ...[name, short(limit)],
    ...values.map((value) => (value > limit ? `**${short(value)}**` : short(value))),
    breaksAt === undefined ? 'never' : `${short(breaksAt)} ×`
  ])
  return table(head, rows)
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

function bytesText(bytes) {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  return `${short(bytes / 1_000 ** power)} ${UNITS[power]}`
}

/** Two digits are as exact as the model is. */
function short(value) {
  if (value === 0) return '0'
  return value >= 100 ? count(value) : Number(value.toPrecision(2)).toString()
}

const count = (value) => Math.round(value).toLocaleString('en-GB')

const MICRO = 1e6

/** @param coefficients see coefficients.json */
export function coefficientTables({ cores, wal, auditRows, redis, rowBytes, notification, hotRows }) {
  const operations = Object.keys(cores).map((name) => {
    const each = cores[name]
    const scale = name === 'base' ? 1 : MICRO
    const cell = (value) => (value === undefined ? '' : short(value * scale))
    return [
      name === 'base' ? 'a process, in cores' : name,
      ...['authorizationServer', 'resourceServer', 'postgres', 'redis'].map((part) => cell(each[part])),
      ...[wal.records[name], redis.commands[name], auditRows[name]].map((value) =>
        value === undefined ? '' : count(value)
      )
    ]
  })
  const rows = Object.entries(rowBytes).map(([name, { heap, indexes }]) => [
    ...[`\`${name}\``, count(heap)],
    count(Object.values(indexes).reduce((total, bytes) => total + bytes, 0))
  ])
  const head = ['one request', ...['authorization server µs', 'resource server µs', 'Postgres µs', 'Redis µs']]
  return [
    table([...head, 'log bytes', 'Redis commands', 'audit events'], operations),
    table(['table', 'bytes a row', 'of its indexes'], rows),
    [
      `- A whole page in the log: ${count(wal.image)} bytes.`,
      `- Redis: a code ${count(redis.code)} bytes, an exchanged one ${count(redis.spentCode)}, a session ${count(redis.session)}, a user's list of sessions ${count(redis.sessionList)}.`,
      `- A notification: ${short(notification.committed * MICRO)} µs of Postgres, and for each receiver ${short(notification.delivered * MICRO)} µs of Postgres and ${short(notification.received * MICRO)} µs of its own; Postgres commits ${count(notification.commitsPerSecond)} notifying transactions a second.`,
      `- Remembered consents for one app: ${count(hotRows.consentsPerSecond)} a second.`
    ].join('\n')
  ].join('\n\n')
}
