import { OAuthError } from '@valetkey/oauth-protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { collectMethods } from './known-routes.js'
import { sendErrorPage } from './send-error-page.js'
import { errorBody } from './send-oauth-error.js'

const METHODS = ['GET', 'HEAD', 'POST'] as const

type NotFoundOptions = {
  issuer: string
  /** Paths of programmatic clients: their errors are JSON, with any `Accept` header. */
  jsonPaths: readonly string[] | 'all'
}

/** 405 with `Allow` for a path that has other methods, otherwise 404. Browsers get a page, other clients JSON. */
export function notFoundHandler(server: FastifyInstance, options: NotFoundOptions) {
  const methodsOf = collectMethods(server)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = request.url.split('?', 1)[0] ?? ''
    const known = methodsOf(path)
    const allowed = METHODS.filter((method) => known.includes(method))
    const status = allowed.length > 0 ? 405 : 404
    reply.header('cache-control', 'no-store')
    if (status === 405) reply.header('allow', allowed.join(', '))
    const isJson = options.jsonPaths === 'all' || options.jsonPaths.includes(path)
    if (!isJson && request.headers.accept?.includes('text/html'))
      return sendErrorPage(request, reply, { status, reason: status === 405 ? 'wrong_method' : 'not_found' })
    const description =
      status === 405 ? `The method must be ${allowed.join(' or ')}.` : 'There is nothing at this address.'
    return reply.code(status).send(errorBody(new OAuthError('invalid_request', description), options.issuer))
  }
}
