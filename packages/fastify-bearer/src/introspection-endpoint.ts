import { errors, Pool } from 'undici'
import { createCircuit } from './circuit.js'
import { type IntrospectionAnswer, parseIntrospectionAnswer } from './introspection-answer.js'
import { postForm, TimeLimitError } from './post-form.js'

export type EndpointSettings = {
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

/** Statuses that say "not now"; any other refusal is about one request, and comes from a server that is there. */
const BUSY = [408, 429]

export type UnavailableReason = 'unreachable' | 'timeout' | 'bad_status' | 'unreadable_answer' | 'resting'

/** The authorization server could not be asked, or gave no answer that can be used. Says nothing about the token. */
export class IntrospectionUnavailableError extends Error {
  override name = 'IntrospectionUnavailableError'
  readonly reason: UnavailableReason
  /** The status of the answer, where there was one. */
  readonly status: number | undefined
  constructor(
    reason: UnavailableReason,
    message: string,
    { cause, status }: { cause?: unknown; status?: number } = {}
  ) {
    super(message, { cause })
    this.reason = reason
    this.status = status
  }
}

/** An answer, and how many characters it had: what it costs to keep it. */
export type EndpointAnswer = { answer: IntrospectionAnswer; size: number }

export type IntrospectionEndpoint = {
  /** @throws {IntrospectionUnavailableError} when nothing is known about the token */
  ask(accessToken: string, requestId: string): Promise<EndpointAnswer>
  close(): Promise<void>
}

const LARGEST_ANSWER_BYTES = 64 * 1024

/** A client of one RFC 7662 endpoint. undici's Pool, for a call through fetch costs three times as much. */
export function createIntrospectionEndpoint(settings: EndpointSettings): IntrospectionEndpoint {
  const { url, timeoutMs = 2_000, connections = 64 } = settings
  const { origin, pathname, search } = new URL(url)
  const pool = new Pool(origin, {
    connections,
    connect: { timeout: timeoutMs },
    maxResponseSize: LARGEST_ANSWER_BYTES
  })
  const circuit = createCircuit()
  const headers = {
    accept: 'application/json',
    authorization: basicCredentials(settings),
    'content-type': 'application/x-www-form-urlencoded'
  }

  async function call(accessToken: string, requestId: string): Promise<EndpointAnswer> {
    const request = {
      path: pathname + search,
      headers: { ...headers, 'x-request-id': requestId },
      body: `token=${encodeURIComponent(accessToken)}&token_type_hint=access_token`
    }
    const begun = performance.now()
    try {
      const { statusCode, body } = await postForm(pool, request, timeoutMs).catch((error: unknown) => {
        // An idle connection may be closed just as it is used again: that call was never read, and asking is harmless.
        if (isClosedConnection(error)) return postForm(pool, request, timeoutMs - (performance.now() - begun))
        throw error
      })
      return readAnswer(statusCode, body)
    } catch (error) {
      if (error instanceof IntrospectionUnavailableError) throw error
      const reason = error instanceof TimeLimitError ? 'timeout' : 'unreachable'
      throw new IntrospectionUnavailableError(reason, describe(error), { cause: error })
    }
  }

  return {
    async ask(accessToken, requestId) {
      const attempt = circuit.begin(performance.now())
      if (attempt === undefined) {
        throw new IntrospectionUnavailableError('resting', 'it failed just now, and is left alone for a moment')
      }
      try {
        const answer = await call(accessToken, requestId)
        attempt.succeeded()
        return answer
      } catch (error) {
        if (isOutage(error)) attempt.failed(performance.now())
        else attempt.succeeded()
        throw error
      }
    },
    close: async () => {
      if (!pool.closed) await pool.close()
    }
  }
}

function readAnswer(statusCode: number, body: string): EndpointAnswer {
  // A 401 here is about our own credentials (RFC 7662 §2.3) and must never reach the caller as one about the token.
  if (statusCode !== 200) {
    throw new IntrospectionUnavailableError('bad_status', `answered with status ${statusCode}`, { status: statusCode })
  }
  const answer = parseIntrospectionAnswer(body)
  if (answer === undefined) throw new IntrospectionUnavailableError('unreadable_answer', 'is no introspection answer')
  return { answer, size: body.length }
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
export function basicCredentials({ clientId, clientSecret }: { clientId: string; clientSecret: string }): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}

/** Whether the server is to be left alone. Nobody's odd request may bring that about for all. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof IntrospectionUnavailableError)) return true
  if (error.status !== undefined) return error.status >= 500 || BUSY.includes(error.status)
  return error.reason !== 'unreadable_answer'
}

function isClosedConnection(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true
  const { code } = error as { code?: unknown }
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
