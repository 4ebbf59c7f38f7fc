import { connect as connectPlain } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { problemOfRedis, type RedisAddress } from '@valetkey/service-kit'
import { CONNECT_TIMEOUT_MS, trusting } from './redis-options.js'

/** The message of ioredis for a connection that ended before it was ready. */
const CLOSED = 'Connection is closed.'

/**
 * Why no node of a Redis Cluster can be used. ioredis drops the errors of the connections over which it reads the list of
 * nodes, so a failed TLS handshake is only a closed connection there. This connects once more to learn the error.
 * @param ca certificates of trusted authorities instead of the system's, as PEM
 * @returns the given error if it has a reason, or if the hosts of the URL accept connections; never rejects
 */
export async function explainClusterFailure(
  error: unknown,
  { hosts, tls }: RedisAddress,
  ca: string | undefined
): Promise<unknown> {
  const { lastNodeError } = Object(error) as { lastNodeError?: { message?: string } }
  if (lastNodeError?.message !== CLOSED) return error
  const results = await Promise.all(hosts.map((host) => failureOf(host, tls ? trusting(ca) : undefined)))
  const failures = results.filter((failure) => failure !== undefined)
  // A host that is down is less of a reason than one that is reached and refuses.
  return failures.find((failure) => problemOfRedis(failure)?.isSetting) ?? failures[0] ?? error
}

/** @returns undefined if the connection, and with TLS the certificate, is accepted */
function failureOf(host: RedisAddress['hosts'][number], tls: { ca?: string } | undefined): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = tls === undefined ? connectPlain(host) : connectTls({ ...host, ...tls })
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error('connect timeout')))
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => socket.destroy())
    socket.once('error', resolve)
    socket.once('close', () => resolve(undefined))
  })
}
