import type { FormParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { NO_PARAMETERS, queryOf } from '../../platform/request-parts.js'
import { clientQuery } from '../pending-requests/pending-request.js'

/** A path below `/account/`, without a query. */
const ACCOUNT_PAGE = /^[a-z][\w-]{0,63}(\/[\w-]{1,64}){0,3}$/

/** The page of the account that the address names with `page`; the browser goes there after the sign-in. */
export function accountPage(request: FastifyRequest): string | undefined {
  const page = ownParameters(request).get('page')
  return page !== undefined && ACCOUNT_PAGE.test(page) ? page : undefined
}

/**
 * Valetkey's parameters. In an authorization request these names are the client's: unknown parameters, which are ignored
 * (RFC 6749 §3.1).
 */
export function ownParameters(request: FastifyRequest): FormParameters {
  return clientQuery(request) === '' ? queryOf(request) : NO_PARAMETERS
}
