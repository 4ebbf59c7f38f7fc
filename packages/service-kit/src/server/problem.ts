import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A refusal; its message is sent to the caller. */
export class Problem extends Error {
  readonly status: number
  constructor(status: number, detail = '') {
    super(detail)
    this.name = 'Problem'
    this.status = status
  }
}

const MEDIA_TYPE = 'application/problem+json'

/**
 * Problem details (RFC 9457) without `type`, so the status has the meaning.
 * @param error the code of RFC 6750 §3.1, if the bearer credentials are the problem
 */
export function sendProblem(reply: FastifyReply, { status, message }: Problem, error?: string): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(MEDIA_TYPE)
    .send(problemJson(status, message, error))
}

/** A request that reaches no route, as far as it was read. Each text is the caller's. */
export type UnreadableRequest = {
  id: string
  status: number
  /** The target with the query. Undefined if the request line was not read. */
  target: string | undefined
  accept: string | undefined
  acceptLanguage: string | undefined
}

/** The body of the response to a request that reaches no route, and headers that it needs besides those of every response. */
export type UnreadableBody = { contentType: string; body: string; headers?: Readonly<Record<string, string>> }

/** The default `UnreadableBody`: problem details. */
export function unreadableProblem({ status }: UnreadableRequest): UnreadableBody {
  return { contentType: `${MEDIA_TYPE}; charset=utf-8`, body: problemJson(status, 'The request could not be read.') }
}

function problemJson(status: number, detail: string, error?: string): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, ...(detail && { detail }), ...(error && { error }) })
}
