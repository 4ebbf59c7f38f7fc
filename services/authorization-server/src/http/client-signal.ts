import type { FastifyReply } from 'fastify'

/**
 * Aborted when the client has gone before it got the response. Not `request.signal`: Node closes the request as soon as its body
 * is read, and that aborts it.
 */
export function clientSignal({ raw, request }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  if (raw.destroyed || request.raw.socket?.destroyed) controller.abort()
  else raw.once('close', () => controller.abort())
  return controller.signal
}
