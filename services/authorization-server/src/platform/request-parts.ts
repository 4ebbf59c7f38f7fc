import { type FormParameters, parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'

const EMPTY = parseParameters('')

/** The form of a request whose parser is `parseParameters`; a request without a body has an empty one. */
export function formOf(request: FastifyRequest): FormParameters {
  return (request.body as FormParameters | null | undefined) ?? EMPTY
}

/** Every Authorization header. Node keeps only the first in `headers`, and a second one must not go unseen. */
export function authorizationHeaders({ raw: { rawHeaders } }: FastifyRequest): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'authorization') found.push(rawHeaders[index + 1] ?? '')
  }
  return found
}

/** The query exactly as it was sent, without the question mark. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
