import { type RedisAddress, readRedisUrl } from '@valetkey/service-kit'
import type { RedisOptions } from 'ioredis'

// The replies are those that the stores expect, whatever the protocol.
type Options = Omit<RedisOptions, 'replyMapping'>

const backOff = (attempt: number) => Math.min(attempt * 100, 1_000)

/** How to reach what `REDIS_URL` names: one server, or the primary of those that the Sentinels watch. */
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
    // With what Postgres may take (2.5 s), every request is answered within 5 s, also when one store stalls after the other.
    commandTimeout: 1_000,
    maxRetriesPerRequest: 1,
    retryStrategy: backOff,
    // A replica that was a primary a moment ago answers READONLY: look for the primary anew.
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
    // A primary that stands still keeps its connections: the Sentinels tell of its successor.
    failoverDetector: true,
    sentinelReconnectStrategy: backOff,
    ...(address.tls && { tls: trusting(ca), sentinelTLS: trusting(ca), enableTLSForSentinelMode: true })
  }
}

const trusting = (ca: string | undefined) => (ca === undefined ? {} : { ca })
