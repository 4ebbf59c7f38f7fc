import type { RedisAddress } from '@valetkey/service-kit'
import type { ClusterOptions, RedisOptions } from 'ioredis'

// The stores expect the default replies.
type Options = Omit<RedisOptions, 'replyMapping'>
type OptionsOfCluster = Omit<ClusterOptions, 'redisOptions'> & {
  redisOptions: Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>
}

/** Together with the limit of Postgres (2.5 s), every response is sent within 5 s, even if both stores stall in turn. */
export const COMMAND_TIMEOUT_MS = 1_000
export const CONNECT_TIMEOUT_MS = 3_000

const backOff = (attempt: number) => Math.min(attempt * 100, 1_000)

/** Connection options for one server, or for the primary that the Sentinels name. */
export function redisOptions(address: RedisAddress, ca: string | undefined): Options {
  return {
    db: address.database,
    ...credentials(address),
    ...(address.sentinelName === undefined ? oneServer(address, ca) : sentinels(address, address.sentinelName, ca)),
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    retryStrategy: backOff,
    // After a failover, the old primary replies READONLY: reconnect to find the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY')
  }
}

/** Connection options for a Redis Cluster. Every command of the stores has the keys of one slot, so it reaches one node. */
export function clusterOptions(address: RedisAddress, ca: string | undefined): OptionsOfCluster {
  return {
    redisOptions: {
      ...credentials(address),
      ...(address.tls && { tls: trusting(ca) }),
      connectTimeout: CONNECT_TIMEOUT_MS
    },
    clusterRetryStrategy: backOff,
    // A stalled primary keeps its connections open, so only the other nodes report its successor.
    slotsRefreshInterval: 1_000,
    slotsRefreshTimeout: 1_000,
    // A certificate has the name of the node, not its address.
    dnsLookup: (name, done) => done(null, name)
  }
}

function credentials({ username, password }: RedisAddress): Pick<Options, 'username' | 'password'> {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
}

function oneServer({ hosts, tls }: RedisAddress, ca: string | undefined): Options {
  return { ...hosts[0], ...(tls && { tls: trusting(ca) }) }
}

function sentinels(address: RedisAddress, name: string, ca: string | undefined): Options {
  const { hosts, sentinelUsername, sentinelPassword } = address
  return {
    sentinels: [...hosts],
    name,
    role: 'master',
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    sentinelRetryStrategy: backOff,
    sentinelCommandTimeout: 1_000,
    // A stalled primary keeps its connections open, so the Sentinels must report its successor.
    failoverDetector: true,
    sentinelReconnectStrategy: backOff,
    ...(address.tls && { tls: trusting(ca), sentinelTLS: trusting(ca), enableTLSForSentinelMode: true })
  }
}

/** Options of TLS. @param ca certificates of trusted authorities instead of the system's, as PEM */
export const trusting = (ca: string | undefined) => (ca === undefined ? {} : { ca })
