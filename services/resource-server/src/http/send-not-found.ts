import { Problem, sendProblem } from '@valetkey/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const METHODS = ['GET', 'HEAD', 'OPTIONS'] as const

/** 405 with `Allow` for a path that has other methods (RFC 9110 §15.5.6), else 404. */
export function notFoundHandler(server: FastifyInstance) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = METHODS.filter((method) => server.hasRoute({ method, url: path })).join(', ')
    if (allowed === '') return sendProblem(reply, new Problem(404, 'There is nothing at this address.'))
    reply.header('allow', allowed)
    return sendProblem(reply, new Problem(405, `The method must be one of ${allowed}.`))
  }
}
