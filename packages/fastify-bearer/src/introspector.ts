import { Pool } from 'undici'
import { type IntrospectionAnswer, parseIntrospectionAnswer } from './introspection-answer.js'

export type IntrospectionSettings = {
  /** The introspection endpoint of the authorization server (RFC 7662 §2). */
  url: string
  /** This resource server's own credentials at the authorization server. */
  clientId: string
  clientSecret: string
  /** How long one answer may take, from the call to its last byte. Default 2000. */
  timeoutMs?: number
  /** Connections to the authorization server at most. Default 64. */
  connections?: number
}

/** Asks an authorization server about tokens. */
export type Introspector = {
  /** @throws {IntrospectionUnavailableError} when nothing is known about the token */
  introspect(accessToken: string, requestId: string): Promise<IntrospectionAnswer>
  close(): Promise<void>
}

export type UnavailableReason = 'unreachable' | 'timeout' | 'bad_status' | 'unreadable_answer'

/** The authorization server could not be asked, or gave no answer that can be used. Says nothing about the token. */
export class IntrospectionUnavailableError extends Error {
  override name = 'IntrospectionUnavailableError'
  readonly reason: UnavailableReason
  constructor(reason: UnavailableReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

const LARGEST_ANSWER_BYTES = 64 * 1024

/** A client of one RFC 7662 endpoint. undici's Pool, for a call through fetch costs three times as much. */
export function buildIntrospector(settings: IntrospectionSettings): Introspector {
  const { url, clientId, clientSecret, timeoutMs = 2_000, connections = 64 } = settings
  const { origin, pathname, search } = new URL(url)
  const pool = new Pool(origin, {
    connections,
    connect: { timeout: timeoutMs },
    maxResponseSize: LARGEST_ANSWER_BYTES
  })
  const headers = {
    accept: 'application/json',
    authorization: basicCredentials(clientId, clientSecret),
    'content-type': 'application/x-www-form-urlencoded'
  }

  return {
    async introspect(accessToken, requestId) {
      // One limit for all of it: waiting for a connection, the head, and a body that may come in drops.
      const timeLimit = new AbortController()
      const timer = setTimeout(() => timeLimit.abort(), timeoutMs)
      try {
        const { statusCode, body } = await pool.request({
          method: 'POST',
          path: pathname + search,
          headers: { ...headers, 'x-request-id': requestId },
          body: `token=${encodeURIComponent(accessToken)}&token_type_hint=access_token`,
          signal: timeLimit.signal
        })
        return readAnswer(statusCode, await body.text())
      } catch (error) {
        if (error instanceof IntrospectionUnavailableError) throw error
        throw timeLimit.signal.aborted
          ? new IntrospectionUnavailableError('timeout', `no answer within ${timeoutMs} ms`, error)
          : new IntrospectionUnavailableError('unreachable', describe(error), error)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => pool.close()
  }
}

function readAnswer(statusCode: number, body: string): IntrospectionAnswer {
  // A 401 here is about our own credentials (RFC 7662 §2.3) and must never reach the caller as one about the token.
  if (statusCode !== 200) throw new IntrospectionUnavailableError('bad_status', `answered with status ${statusCode}`)
  const answer = parseIntrospectionAnswer(body)
  if (answer === undefined) throw new IntrospectionUnavailableError('unreadable_answer', 'is no introspection answer')
  return answer
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function basicCredentials(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
