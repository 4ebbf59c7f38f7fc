import { type FormParameters, authorizationHeaders as headersIn, parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'

/** The parameters of no form or query. */
export const NO_PARAMETERS = parseParameters('')

/** The form of a request, as read by the parser `parseParameters`; empty for a request without a body. */
export function formOf(request: FastifyRequest): FormParameters {
  return (request.body as FormParameters | null | undefined) ?? NO_PARAMETERS
}

export function authorizationHeaders(request: FastifyRequest): readonly string[] {
  return headersIn(request.raw.rawHeaders)
}

const QUERY = Symbol('valetkey.query')

declare module 'fastify' {
  interface FastifyRequest {
    [QUERY]?: FormParameters
  }
}

/** The parameters of the query, as the parser of forms reads them: once for each request, and only if they are needed. */
export function queryOf(request: FastifyRequest): FormParameters {
  request[QUERY] ??= parseParameters(rawQuery(request))
  return request[QUERY]
}

/** The query, byte for byte, without the question mark. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
