import { isOutage, Problem, sendProblem } from '@valetkey/service-kit'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'

/** Seconds until a client should try again after a 503. */
const RETRY_AFTER = '2'

/**
 * The error handler of the public listener.
 * @param parameterRules error descriptions by query parameter
 */
export function problemErrorHandler(parameterRules: Readonly<Record<string, string>>) {
  return async (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const problem = toProblem(error, parameterRules)
    if (problem.status === 503) reply.header('retry-after', RETRY_AFTER)
    if (problem.status >= 500) request.log.error({ event: 'request_failed', err: error }, 'request failed')
    return sendProblem(reply, problem)
  }
}

function toProblem(error: FastifyError | Error, parameterRules: Readonly<Record<string, string>>): Problem {
  if (error instanceof Problem) return error
  if (isOutage(error)) return new Problem(503, 'The files cannot be read at the moment.')
  if ('validation' in error && error.validation !== undefined) {
    const parameter = error.validation[0]?.instancePath.slice(1) ?? ''
    return new Problem(400, parameterRules[parameter] ?? 'A parameter is invalid.')
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  return status >= 400 && status < 500 ? new Problem(status) : new Problem(500, 'Something went wrong here.')
}
