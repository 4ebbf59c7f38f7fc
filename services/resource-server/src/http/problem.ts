import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A refusal in words that the caller may read. */
export class Problem extends Error {
  readonly status: number
  constructor(status: number, detail = '') {
    super(detail)
    this.name = 'Problem'
    this.status = status
  }
}

/** Problem details (RFC 9457) without `type`, which then means: what the status says. */
export function sendProblem(reply: FastifyReply, { status, message }: Problem): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .send(JSON.stringify({ title: STATUS_CODES[status], status, ...(message && { detail: message }) }))
}
