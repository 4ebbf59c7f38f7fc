// The capacity model: from the use of an installation to what it needs. Pure; docs/capacity.md describes it.
import { DEFAULTS, hitRatio, meanRates } from './input.mjs'
import { bytesOfTables, pageImages, rowsOf } from './rows.mjs'

const DAY = 86_400
/** Connections to Postgres: the pool of each process, and one for LISTEN (docs/databases.md). */
const POOL = 10
const LISTEN = 1
/** A process that uses more of its core responds late. */
const BUSY = 0.6
const FEWEST_PROCESSES = 2
/** Each authorization server sends itself pulses, each resource server with a cache sends nonces, through LISTEN (ADR 0015). */
const PULSES_PER_SECOND = 4
const NONCES_PER_SECOND = 1
/** Seconds that Redis keeps an exchanged code, and that apps need for an exchange. */
export const SPENT_SECONDS = 60
const EXCHANGE_SECONDS = 1
/** Redis keeps the list of a user's sessions. */
const SESSION_LIST_DAYS = 8

/**
 * @param options see OPTIONS; those that are left out have their defaults
 * @param coefficients see coefficients.json
 * @returns what the installation needs at its busiest time, and its tables after the retention times. Rates are per second,
 *   sizes in bytes
 */
export function predict(options, coefficients) {
  const input = { ...DEFAULTS, ...options }
  const mean = meanRates(input)
  const peak = Object.fromEntries(Object.entries(mean).map(([name, rate]) => [name, rate * input.peak]))
  const { calls } = peak
  const cacheSeconds = input['cache-seconds']
  const tokens = Math.max(1, input.tokens ?? (peak.authorization + peak.refresh) * input['token-seconds'])
  const coresOfCalls =
    calls * Math.max(coefficients.cores.apiHit.resourceServer, coefficients.cores.apiMiss.resourceServer)
  const resourceServers =
    input['resource-servers'] ?? processesFor(coresOfCalls, coefficients.cores.base.resourceServer)
  const isCached = hitRatio({ calls, tokens, processes: resourceServers, cacheSeconds })
  const rates = { ...operationRates(peak, isCached), expiry: expiryRate(mean, coefficients) }
  const authorizationServers =
    input['authorization-servers'] ??
    processesFor(coresOf(rates, 'authorizationServer', coefficients), coefficients.cores.base.authorizationServer)
  const processes = { authorizationServers, resourceServers, subscribers: cacheSeconds > 0 ? resourceServers : 0 }
  const tables = bytesOfTables(rowsOf(input, mean, coefficients), coefficients)
  return {
    ...{ rates, hitRatio: isCached, tokens, processes, tables },
    ...loadOf({ rates, processes, tables, checkpointSeconds: input['checkpoint-seconds'] }, coefficients),
    connections: connectionsOf(processes),
    memory: memoryOf(processes, coefficients),
    redisBytes: redisBytes({ mean, peak, input }, coefficients),
    auditRowsPerDay: auditRows(operationRates(mean, isCached), coefficients) * DAY
  }
}

/**
 * What a load costs while it lasts.
 * @param load `rates`: requests a second of each operation; `processes`: authorizationServers, resourceServers, and
 *   `subscribers`, those of them that follow the revocation feed; `tables`: see bytesOfTables
 * @returns `cores` of each kind of process; `wal` and `commands` of Redis in a second; `feed`: see feedOf
 */
export function loadOf({ rates, processes, tables, checkpointSeconds }, coefficients) {
  const feed = feedOf(processes, rates)
  const { records, image } = coefficients.wal
  const images = pageImages(rates, tables, checkpointSeconds) / checkpointSeconds
  const ofRecords = weighted(rates, records)
  return {
    cores: coresOfAll(rates, processes, feed, coefficients),
    wal: { records: ofRecords, images, bytes: ofRecords + images * image },
    commands: weighted(rates, coefficients.redis.commands),
    feed
  }
}

/** Rows of audit_events in a second. */
export const auditRows = (rates, coefficients) => weighted(rates, coefficients.auditRows)

/** API calls are hits or misses of the cache. */
function operationRates({ calls, ...rates }, isCached) {
  return { ...rates, apiMiss: calls * (1 - isCached), apiHit: calls * isCached }
}

/** In the steady state each row that is not an access token is deleted after its time: grants, refresh tokens, audit events. */
function expiryRate(mean, coefficients) {
  return 2 * mean.authorization + mean.refresh + auditRows(mean, coefficients)
}

/** Cores that requests need, besides those of a process without requests. */
function coresOf(rates, process, { cores }) {
  return weighted(rates, Object.fromEntries(Object.entries(cores).map(([name, each]) => [name, each[process]])))
}

function processesFor(cores, base) {
  return Math.max(FEWEST_PROCESSES, Math.ceil(cores / (BUSY - base)))
}

function coresOfAll(rates, { authorizationServers, resourceServers }, feed, coefficients) {
  const { base } = coefficients.cores
  const of = (process) => coresOf(rates, process, coefficients)
  const { received, delivered, committed } = coefficients.notification
  // The measured revocations and the base contain the notifications of one pair of processes.
  const contained = PULSES_PER_SECOND + NONCES_PER_SECOND + rates.revocation
  const more = feed.deliveries - contained
  const notifying = (feed.notifications - contained) * committed + more * delivered
  // Postgres has a process for each connection, Redis one for all.
  return {
    authorizationServer: of('authorizationServer') + authorizationServers * base.authorizationServer + more * received,
    resourceServer: of('resourceServer') + resourceServers * base.resourceServer,
    postgres: of('postgres') + authorizationServers * base.postgres + notifying,
    redis: of('redis') + base.redis
  }
}

/**
 * @returns in a second: `notifications` that Postgres commits; `deliveries` of them to authorization servers, each of which
 *   receives all; `events` written to subscribers, each revocation to all and each nonce to its sender
 */
function feedOf({ authorizationServers, subscribers }, { revocation }) {
  const notifications = authorizationServers * PULSES_PER_SECOND + subscribers * NONCES_PER_SECOND + revocation
  return {
    notifications,
    deliveries: notifications * authorizationServers,
    events: subscribers * (revocation + NONCES_PER_SECOND)
  }
}

/** @returns all connections to Postgres, and those of them that cannot use a pooler */
function connectionsOf({ authorizationServers, resourceServers }) {
  return {
    all: authorizationServers * (POOL + LISTEN) + resourceServers * POOL,
    direct: authorizationServers * LISTEN
  }
}

function memoryOf({ authorizationServers, resourceServers }, { memory }) {
  return authorizationServers * memory.authorizationServer + resourceServers * memory.resourceServer
}

function redisBytes({ mean, peak, input }, { redis }) {
  const codes = peak.authorization * (EXCHANGE_SECONDS * redis.code + SPENT_SECONDS * redis.spentCode)
  const sessions = mean.signIn * input['session-hours'] * 3_600 * redis.session
  const lists = Math.min(input.users, mean.signIn * SESSION_LIST_DAYS * DAY) * redis.sessionList
  return codes + sessions + lists
}

/** The sum of each rate times its weight; 0 for operations without a weight. */
function weighted(rates, weights) {
  return Object.entries(rates).reduce((total, [operation, rate]) => total + rate * (weights[operation] ?? 0), 0)
}
