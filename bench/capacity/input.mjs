// The description of an installation by its operator, and the rates that follow from it. Pure.
const DAY = 86_400

/**
 * Each option of `npm run capacity`, with its default. Rates are means over the day; `peak` is the busiest time divided by the
 * mean.
 */
export const OPTIONS = {
  users: { value: 100_000, meaning: 'users' },
  apps: { value: 10, meaning: 'clients' },
  'sign-ins': { value: 0.2, meaning: 'sign-ins with a password, for each user and day' },
  authorizations: { value: 0.5, meaning: 'codes with their exchange, for each user and day' },
  'refreshes-per-second': { value: 3, meaning: 'mean over the day' },
  'calls-per-second': { value: 100, meaning: 'API calls, mean over the day' },
  consents: { value: 2, meaning: 'apps that a user allows for the first time, in a year' },
  revocations: { value: 0.05, meaning: 'revoked tokens and grants, for each user and day' },
  peak: { value: 3, meaning: 'busiest time divided by the mean' },
  'token-seconds': { value: 3_600, meaning: '`ACCESS_TOKEN_TTL`' },
  'refresh-days': { value: 14, meaning: '`REFRESH_TOKEN_IDLE_TTL`' },
  'grant-days': { value: 30, meaning: 'days from the exchange to the end of the last token of its grant' },
  'audit-days': { value: 365, meaning: '`AUDIT_RETENTION_DAYS`' },
  'session-hours': { value: 12, meaning: 'life of a session' },
  'cache-seconds': { value: 60, meaning: '`INTROSPECTION_CACHE_TTL`; 0: no cache' },
  tokens: { value: undefined, meaning: 'access tokens that apps use at the same time; by default all that are valid' },
  'authorization-servers': { value: undefined, meaning: 'processes; by default what the cores require, at least two' },
  'resource-servers': { value: undefined, meaning: 'the same' },
  'checkpoint-seconds': { value: 300, meaning: '`checkpoint_timeout` of Postgres' }
}

export const DEFAULTS = Object.fromEntries(Object.entries(OPTIONS).map(([name, { value }]) => [name, value]))

/**
 * @param given options by name; others have their defaults
 * @returns mean requests a second of each operation that users and apps cause, and `calls` to the API
 */
export function meanRates(given) {
  const perUser = (perDay) => (given.users * perDay) / DAY
  return {
    signIn: perUser(given['sign-ins']),
    authorization: perUser(given.authorizations),
    refresh: given['refreshes-per-second'],
    revocation: perUser(given.revocations),
    calls: given['calls-per-second']
  }
}

/** The cache of a resource server process has at most this many entries (`CacheOptions` of the guard). */
const MOST_ENTRIES = 10_000

/**
 * The part of API calls whose token is in the cache of the process. Calls with a token come at random times to any process, so
 * a process has the token for `cacheSeconds` after a miss, and the mean wait for the next call follows.
 */
export function hitRatio({ calls, tokens, processes, cacheSeconds }) {
  if (cacheSeconds === 0 || calls === 0) return 0
  const callsWhileCached = (calls / tokens / processes) * cacheSeconds
  return Math.min(callsWhileCached / (1 + callsWhileCached), MOST_ENTRIES / tokens)
}
