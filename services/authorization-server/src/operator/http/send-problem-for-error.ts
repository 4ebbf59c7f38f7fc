import { isOutage, Problem, sendProblem } from '@valetkey/service-kit'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { PasswordQueueFull } from '../../platform/passwords/password-queue.js'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { AdministrationError } from '../use-cases/administration-error.js'

const ADMINISTRATION_STATUS = { invalid: 422, not_found: 404, conflict: 409, busy: 503 } as const

/** Seconds until a caller should try again after a 503. */
const RETRY_AFTER_OUTAGE = 2

/** The error handler of the administration API. */
export async function sendProblemForError(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const problem = toProblem(error)
  if (error instanceof TooManyAttempts) reply.header('retry-after', String(error.retryAfterSeconds))
  if (problem.status === 503) reply.header('retry-after', String(RETRY_AFTER_OUTAGE))
  if (problem.status >= 500) request.log.error({ event: 'request_failed', err: error }, 'request failed')
  return sendProblem(reply, problem)
}

function toProblem(error: FastifyError | Error): Problem {
  if (error instanceof Problem) return error
  if (error instanceof AdministrationError) return new Problem(ADMINISTRATION_STATUS[error.kind], error.message)
  if (error instanceof TooManyAttempts) return new Problem(429, 'Too many failed attempts. Wait before you try again.')
  if (isOutage(error) || error instanceof PasswordQueueFull) {
    return new Problem(503, 'The service is unavailable. Try again in a moment.')
  }
  if ('validation' in error && error.validation !== undefined) return new Problem(400, describeFault(error))
  return edgeProblem(error)
}

/** Describes a schema error with the name of the member or parameter. */
function describeFault({ validation, validationContext = 'params' }: FastifyError): string {
  const [fault] = validation ?? []
  const path = fault?.instancePath.slice(1).replaceAll('/', '.') ?? ''
  const what = validationContext === 'body' ? 'member' : 'parameter'
  const inside = path === '' ? '' : ` in ${path}`
  switch (fault?.keyword) {
    case 'additionalProperties':
      return `There is no ${what} ${JSON.stringify(fault.params.additionalProperty)}${inside}.`
    case 'required':
      return `The ${what} ${JSON.stringify(fault.params.missingProperty)} is missing${inside}.`
    default: {
      const subject = path === '' ? `The ${validationContext}` : `The ${what} ${path}`
      return `${subject} ${messageOf(fault)}.`
    }
  }
}

/** Returns a message such as "must be an object". */
function messageOf(fault: FastifySchemaValidationError | undefined): string {
  if (fault?.keyword !== 'type') return fault?.message ?? 'is invalid'
  const type = String(fault.params.type)
  return `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
}

/** Errors of Fastify before a route is reached. */
function edgeProblem(error: FastifyError | Error): Problem {
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500
  switch (status) {
    case 413:
      return new Problem(413, 'The body is too large.')
    case 415:
      return new Problem(415, 'The body must be application/json.')
    default:
      return status >= 400 && status < 500
        ? new Problem(400, 'The request could not be read.')
        : new Problem(500, 'Something went wrong here.')
  }
}
