import { type Parameters, parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'

const EMPTY = parseParameters('')

/** The form of a request whose parser is `parseParameters`; a request without a body has an empty one. */
export function formOf(request: FastifyRequest): Parameters {
  return (request.body as Parameters | null | undefined) ?? EMPTY
}

/** Every Authorization header. Node keeps only the first in `headers`, and a second one must not go unseen. */
export function authorizationHeaders(request: FastifyRequest): readonly string[] {
  const { rawHeaders } = request.raw
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization')
}

/** The query exactly as it was sent, without the question mark. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
