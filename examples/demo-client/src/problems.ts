import type { FastifyInstance } from 'fastify'
import * as oauth from 'openid-client'
import type { Sessions } from './sessions.js'

/** Every error page: its status, the next step that it offers, its title and its text. */
const problems = {
  access_denied: [403, 'connect', 'You did not allow access', 'Nothing was shared. Connect again to allow it.'],
  access_ended: [403, 'connect', 'Access has ended', 'Photo Printer may no longer see your files. Connect again.'],
  answer_not_genuine: [400, 'connect', 'We could not verify the response', 'Nothing was shared. Please start again.'],
  app_not_set_up: [502, 'start', 'This app is not set up correctly', 'The operator must check its id and secret.'],
  bad_request: [400, 'start', 'We did not understand that', 'Please go back to the start.'],
  code_not_accepted: [400, 'connect', 'That took a little too long', 'This sign-in is no longer valid. Connect again.'],
  disconnected_only_here: [503, 'start', 'Disconnected, but only here', 'Please end the access at Valetkey, too.'],
  files_unreachable: [503, 'files', 'Your files cannot be reached', 'You are still connected. Try again in a minute.'],
  flow_unknown: [400, 'connect', 'This page cannot be used again', 'It belongs to a finished or old connection.'],
  form_refused: [403, 'start', 'The request came from another site', 'Please use the buttons on our own pages.'],
  not_found: [404, 'start', 'There is no such page', 'The address may be mistyped, or the page has moved.'],
  page_gone: [400, 'files', 'This part of the list is gone', 'Please start with the newest files.'],
  permission_missing: [403, 'connect', 'The permission does not cover this', 'Connect again and allow the list.'],
  renewal_unreachable: [503, 'files', 'Valetkey cannot be reached', 'You are still connected. Try again in a minute.'],
  request_refused: [502, 'connect', 'Valetkey refused our request', 'Nothing was shared. The error is on our side.'],
  sign_in_unreachable: [503, 'connect', 'Valetkey cannot be reached', 'Nothing is lost. Please try again in a minute.'],
  unexpected: [500, 'start', 'Something went wrong on our side', 'The error has been logged. Please try again.']
} as const

export type ProblemName = keyof typeof problems

/** A route or hook throws it, and the error handler shows its page. */
export class Problem extends Error {
  readonly problem: ProblemName
  constructor(problem: ProblemName, cause?: unknown) {
    super(problem, { cause })
    this.problem = problem
  }
}

/** Error codes of the authorization server, and of the client library. */
const byErrorCode = new Map<string | undefined, ProblemName>([
  ['access_denied', 'access_denied'],
  ['invalid_client', 'app_not_set_up'],
  ['invalid_grant', 'code_not_accepted'],
  ['server_error', 'sign_in_unreachable'],
  ['temporarily_unavailable', 'sign_in_unreachable'],
  ['unauthorized_client', 'app_not_set_up'],
  // A wrong or missing iss or state, or a repeated parameter; then: another issuer in the metadata (RFC 8414 §3.3).
  ['OAUTH_INVALID_RESPONSE', 'answer_not_genuine'],
  ['OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED', 'app_not_set_up']
])

/** The page for an error, which may come from the client library. */
export function problemOf(error: unknown): ProblemName {
  if (error instanceof Problem) return error.problem
  if (error instanceof oauth.ResponseBodyError && error.status === 429) return 'sign_in_unreachable'
  const isErrorResponse = error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError
  if (isErrorResponse) return byErrorCode.get(error.error) ?? 'request_refused'
  // At the token endpoint a challenge means that our id or secret is wrong (RFC 6749 §5.2).
  if (error instanceof oauth.WWWAuthenticateChallengeError) return 'app_not_set_up'
  // This includes an unexpected status (503 for example), something that is not JSON, and a time-out.
  if (error instanceof oauth.ClientError) return byErrorCode.get(error.code) ?? 'sign_in_unreachable'
  const isOutage = error instanceof TypeError && error.message === 'fetch failed'
  return isOutage ? 'sign_in_unreachable' : 'unexpected'
}

export function showProblems(app: FastifyInstance, sessions: Sessions): void {
  app.setNotFoundHandler(() => {
    throw new Problem('not_found')
  })

  app.setErrorHandler<Error & { statusCode?: number; error?: string }>((error, request, reply) => {
    const isBadRequest = error.statusCode !== undefined && error.statusCode < 500
    const problem = isBadRequest ? 'bad_request' : problemOf(error)
    const [status, next, title, text] = problems[problem]
    request.log[status === 500 ? 'error' : 'warn']({ event: 'problem', problem, err: error }, title)
    if (status === 503) reply.header('retry-after', 30)
    const detail = status === 502 ? error.error?.slice(0, 80) : undefined
    const connected = sessions.find(request)?.connection !== undefined
    return reply
      .code(status)
      .view('problem.hbs', { title, text, detail, connected, connect: next === 'connect', files: next === 'files' })
  })
}
