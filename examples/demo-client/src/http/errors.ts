import type { FastifyInstance } from 'fastify'
import { showProblem } from '../pages/show-problem.js'

/** Handles unknown paths and errors: a page for the user, and the cause in the log. */
export function answerErrors(app: FastifyInstance): void {
  app.setNotFoundHandler((_request, reply) => showProblem(reply, 'not_found'))

  app.setErrorHandler<Error & { statusCode?: number }>((error, request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 400 && status < 500) return showProblem(reply, 'bad_request')
    request.log.error({ event: 'unexpected_error', err: error }, 'unexpected error')
    return showProblem(reply, 'unexpected')
  })
}
