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

export function badStatus(status: number): IntrospectionUnavailableError {
  return new IntrospectionUnavailableError('bad_status', `answered with status ${status}`, { status })
}

export function unreadableAnswer(): IntrospectionUnavailableError {
  return new IntrospectionUnavailableError('unreadable_answer', 'is no introspection answer')
}

/** Statuses that say "not now"; any other refusal is about one request, and comes from a server that is there. */
const BUSY = [408, 429]

/** Whether the server is to be left alone. Nobody's odd request may bring that about for all. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof IntrospectionUnavailableError)) return true
  if (error.status !== undefined) return error.status >= 500 || BUSY.includes(error.status)
  return error.reason !== 'unreadable_answer'
}
