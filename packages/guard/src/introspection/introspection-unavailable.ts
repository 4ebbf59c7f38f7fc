export type UnavailableReason = 'unreachable' | 'timeout' | 'bad_status' | 'unreadable_response' | 'resting'

/** What to do when the endpoint refuses this API (RFC 7662 §2.3): a wrong setting, which no repetition corrects. */
export const REFUSED_CREDENTIAL =
  'introspection refused the credential of this API (401): check introspection.clientId and introspection.clientSecret'

/** Introspection failed, so nothing is known about the token. */
export class IntrospectionUnavailableError extends Error {
  override name = 'IntrospectionUnavailableError'
  readonly reason: UnavailableReason
  /** The status of the response; undefined without a response. */
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

export function badStatus(status: number): IntrospectionUnavailableError {
  const message = status === 401 ? REFUSED_CREDENTIAL : `responded with status ${status}`
  return new IntrospectionUnavailableError('bad_status', message, { status })
}

export function unreadableResponse(): IntrospectionUnavailableError {
  return new IntrospectionUnavailableError('unreadable_response', 'the response is not an introspection response')
}

/** Statuses of an overloaded server. Any other 4xx concerns one request, from a server that works. */
const BUSY = [408, 429]

/** Whether a failure counts for the circuit breaker. One unusual request must not open it for all others. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof IntrospectionUnavailableError)) return true
  if (error.status !== undefined) return error.status >= 500 || BUSY.includes(error.status)
  return error.reason !== 'unreadable_response'
}
