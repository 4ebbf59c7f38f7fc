// What breaks first when an installation grows. Pure.
import { predict } from './model.mjs'
import { totalBytes } from './rows.mjs'

/** Tables of access tokens that exist besides those with valid tokens: three ahead, and the last two hours (ADR 0017). */
const BUCKETS_BESIDES = 5
const HOUR = 3_600
const YEAR = 365 * 86_400
/** Options that grow with the number of users. */
const GROWING = ['users', 'apps', 'refreshes-per-second', 'calls-per-second', 'tokens']

/** @returns the options of an installation that is `factor` times as large */
function grown(options, factor) {
  const isGrowing = (name) => GROWING.includes(name) && options[name] !== undefined
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, isGrowing(name) ? value * factor : value])
  )
}

/**
 * Each resource of one engine that more processes of Valetkey do not add to, with its limit: of one core, of what was measured,
 * or of a common large machine.
 */
const RESOURCES = [
  {
    name: 'notifying commits a second (LISTEN)',
    limit: ({ notification }) => notification.commitsPerSecond,
    value: ({ feed }) => feed.notifications
  },
  {
    name: 'cores of one authorization server for notifications',
    limit: () => 0.3,
    value: ({ feed, processes }, { notification }) =>
      (feed.deliveries / processes.authorizationServers) * notification.received
  },
  {
    name: 'first consents a second, all for one app (hottest row)',
    limit: ({ hotRows }) => hotRows.consentsPerSecond,
    value: (_, __, { users, consents, peak }) => (users * consents * peak) / YEAR
  },
  { name: 'connections to Postgres', limit: () => 500, value: ({ connections }) => connections.all },
  { name: 'cores of Redis', limit: () => 1, value: ({ cores }) => cores.redis },
  { name: 'memory of Redis, GB', limit: () => 64, value: ({ redisBytes }) => redisBytes / 1e9 },
  { name: 'cores of Postgres', limit: () => 64, value: ({ cores }) => cores.postgres },
  { name: 'log of Postgres, MB/s', limit: () => 100, value: ({ wal }) => wal.bytes / 1e6 },
  {
    name: 'indexes with random inserts, GB',
    limit: () => 256,
    value: ({ tables }) =>
      RANDOM_INDEXES.reduce((total, [table, index]) => total + tables[table].indexes[index], 0) / 1e9
  },
  { name: 'tables with indexes, TB', limit: () => 16, value: ({ tables }) => totalBytes(tables) / 1e12 },
  { name: 'audit events, rows in 10⁹', limit: () => 10, value: ({ tables }) => tables.audit_events.rows / 1e9 },
  {
    name: 'tables of access tokens',
    limit: () => 1_000,
    value: (_, __, options) => Math.ceil(options['token-seconds'] / HOUR) + BUCKETS_BESIDES
  }
]

/** Indexes of which every page is in use. If memory does not hold them, a request waits for a read of the disk. */
const RANDOM_INDEXES = [
  ['grants', 'grants_pkey'],
  ['grants', 'grants_code_hash_key'],
  ['refresh_tokens', 'refresh_tokens_pkey'],
  ['access_tokens', 'pkey'],
  ['audit_events', 'audit_events_request_id']
]

/**
 * @param options of the base size, complete
 * @param factors by which it grows
 * @returns the resources, sorted by `breaksAt`, the factor at which the limit is reached; each with its name, `limit` and the `values` by factor
 */
export function growth(options, factors, coefficients) {
  const at = (resource, factor) => {
    const larger = grown(options, factor)
    return resource.value(predict(larger, coefficients), coefficients, larger)
  }
  const resources = RESOURCES.map((resource) => {
    const limit = resource.limit(coefficients)
    return {
      ...{ name: resource.name, limit },
      values: factors.map((factor) => at(resource, factor)),
      breaksAt: breakingFactor((factor) => at(resource, factor) > limit)
    }
  })
  const order = ({ breaksAt = Number.MAX_VALUE }) => breaksAt
  return resources.toSorted((one, other) => order(one) - order(other))
}

const MOST_GROWTH = 1e6

/** The smallest factor that exceeds, within a hundredth; undefined if none up to MOST_GROWTH does. */
function breakingFactor(exceeds) {
  let [low, high] = [1, MOST_GROWTH]
  if (!exceeds(high)) return undefined
  while (high / low > 1.01) {
    const middle = Math.sqrt(low * high)
    if (exceeds(middle)) high = middle
    else low = middle
  }
  return high
}
