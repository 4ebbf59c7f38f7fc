import { type RedisAddress, readRedisUrl } from '@valetkey/service-kit'
import type { RedisOptions } from 'ioredis'

// The stores expect the default replies.
type Options = Omit<RedisOptions, 'replyMapping'>

const backOff = (attempt: number) => Math.min(attempt * 100, 1_000)

/** Connection options for `REDIS_URL`: one server, or the primary that the Sentinels name. */
export function redisOptions(url: string, ca: string | undefined): Options {
  const address = readRedisUrl(url)
  const { username, password, database: db } = address
  return {
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(address.sentinelName === undefined ? oneServer(address, ca) : sentinels(address, address.sentinelName, ca)),
    enableAutoPipelining: true,
    connectTimeout: 3_000,
    // Together with the limit of Postgres (2.5 s), every response is sent within 5 s, even if both stores stall in turn.
    commandTimeout: 1_000,
    maxRetriesPerRequest: 1,
    retryStrategy: backOff,
    // After a failover, the old primary replies READONLY: reconnect to find the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY')
  }
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

const trusting = (ca: string | undefined) => (ca === undefined ? {} : { ca })
