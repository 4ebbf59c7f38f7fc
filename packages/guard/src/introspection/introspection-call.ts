import { traceHeaders } from '@valetkey/oauth-protocol'
// Imports the file, because Bun replaces the module `undici` with its own, which has no Pool.
import { errors, Pool } from 'undici/index.js'
import { basicCredentials } from '../encode-basic-credentials.js'
import { createCircuit } from './circuit.js'
import { badStatus, IntrospectionUnavailableError, isOutage, REFUSED_CREDENTIAL } from './introspection-unavailable.js'
import type { CallStatistics } from './introspector-statistics.js'
import { isInstrumented } from './opentelemetry.js'
import { type FormResponse, postForm, TimeLimitError } from './post-form.js'
import type { CallOrigin } from './shared-calls.js'

export type Caller = ReturnType<typeof createCaller>

type CallerOptions = {
  url: string
  clientId: string
  clientSecret: string
  timeoutMs?: number
  connections?: number
}

export type Call = {
  path: string
  body: string
  origin: CallOrigin
  /** How many tokens it asks about. */
  tokens: number
}

/** The limit for each token of the call. */
const MAX_RESPONSE_BYTES = 64 * 1024

/** Request ids that a Valetkey server logs; others are not sent. */
const LOGGED_ID = /^[\w.-]{8,64}$/

/** A request may have no id, or one that is no header value. */
const SENDABLE_ID = /^[\x21-\x7e]{1,200}$/

/** These are, with the first id, as many as a call may have tokens. */
const MAX_OTHER_IDS = 63

/** Between two warnings of a credential that the endpoint refuses. */
const WARNING_PAUSE_MS = 60_000

/** Sends introspection calls with a time limit and a circuit breaker, and counts them. */
export function createCaller({ url, timeoutMs = 2_000, connections = 64, ...credentials }: CallerOptions) {
  // undici's Pool, because a call with fetch costs three times as much processor time.
  const pool = new Pool(new URL(url).origin, { connections, connect: { timeout: timeoutMs } })
  const circuit = createCircuit()
  const warnOfCredential = createCredentialWarning()
  const headers = {
    accept: 'application/json',
    authorization: basicCredentials(credentials),
    'content-type': 'application/x-www-form-urlencoded'
  }
  const failures = { unreachable: 0, timeout: 0, bad_status: 0, unreadable_response: 0, resting: 0 }
  const totals = { ended: 0, milliseconds: 0, tokens: 0 }

  async function post({ path, body, origin, tokens }: Call): Promise<FormResponse> {
    const largestResponse = tokens * MAX_RESPONSE_BYTES
    const request = { path, headers: { ...headers, ...originHeaders(origin) }, body, largestResponse }
    const startedAt = performance.now()
    try {
      const response = await postForm(pool, request, timeoutMs).catch((error: unknown) => {
        // The server may close an idle connection just as it is used again. Introspection may safely be repeated.
        if (isClosedConnection(error)) return postForm(pool, request, timeoutMs - (performance.now() - startedAt))
        throw error
      })
      // A 401 is about our own credentials (RFC 7662 §2.3), not about the token. It must not become a 401 for the client.
      if (response.statusCode === 401) warnOfCredential()
      if (response.statusCode !== 200) throw badStatus(response.statusCode)
      return response
    } catch (error) {
      if (error instanceof IntrospectionUnavailableError) throw error
      const reason = error instanceof TimeLimitError ? 'timeout' : 'unreachable'
      throw new IntrospectionUnavailableError(reason, describe(error), { cause: error })
    }
  }

  return {
    /**
     * Sends a call and parses its response, unless the circuit is open.
     * @throws {IntrospectionUnavailableError} also when `parse` throws it
     */
    async send<Result>(call: Call, parse: (response: FormResponse) => Result): Promise<Result> {
      const startedAt = performance.now()
      const attempt = circuit.begin(startedAt)
      if (attempt === undefined) {
        failures.resting += 1
        throw new IntrospectionUnavailableError('resting', 'calls are paused after repeated failures')
      }
      try {
        const result = parse(await post(call))
        attempt.succeeded()
        return result
      } catch (error) {
        if (isOutage(error)) attempt.failed(performance.now())
        else attempt.succeeded()
        failures[error instanceof IntrospectionUnavailableError ? error.reason : 'unreachable'] += 1
        throw error
      } finally {
        totals.ended += 1
        totals.tokens += call.tokens
        totals.milliseconds += performance.now() - startedAt
      }
    },

    /** Counts a question that waited too long for a batch and was never sent. */
    countTimeout(): void {
      failures.timeout += 1
    },

    statistics: (): CallStatistics => ({ ...totals, failures: { ...failures } }),

    close: async (): Promise<void> => {
      if (!pool.closed) await pool.close()
    }
  }
}

/** Warns on stderr, because an API without a `log` has no other sign of a wrong credential than 503 responses. */
function createCredentialWarning(): () => void {
  let nextAt = 0
  return () => {
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + WARNING_PAUSE_MS
    process.emitWarning(REFUSED_CREDENTIAL, 'ValetkeyGuard')
  }
}

/** The headers have `traceparent` and `tracestate` only if a request has them. */
function originHeaders({ requestIds, trace }: CallOrigin): Record<string, string> {
  const ids = requestIdHeaders(requestIds)
  return trace === undefined || isInstrumented() ? ids : { ...ids, ...traceHeaders(trace) }
}

/** The id of the first request, and separately those of the others, so that the server's log has all of them. */
function requestIdHeaders(requestIds: readonly string[]): Record<string, string> {
  const [first, ...others] = requestIds.length > 1 ? new Set(requestIds) : requestIds
  const logged = others.filter((id) => LOGGED_ID.test(id)).slice(0, MAX_OTHER_IDS)
  return {
    ...(first !== undefined && SENDABLE_ID.test(first) && { 'x-request-id': first }),
    ...(logged.length > 0 && { 'x-other-request-ids': logged.join(',') })
  }
}

function isClosedConnection(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true
  const { code } = error as { code?: unknown }
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
