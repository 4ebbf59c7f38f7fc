import { type FormParameters, authorizationHeaders as headersIn, parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'

const EMPTY = parseParameters('')

/** The form of a request, as read by the parser `parseParameters`; empty for a request without a body. */
export function formOf(request: FastifyRequest): FormParameters {
  return (request.body as FormParameters | null | undefined) ?? EMPTY
}

export function authorizationHeaders(request: FastifyRequest): readonly string[] {
  return headersIn(request.raw.rawHeaders)
}

/** The query, byte for byte, without the question mark. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
