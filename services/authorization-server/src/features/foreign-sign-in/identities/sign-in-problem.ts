import { errorLocation } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { stepUrl, storedRequest } from '../../../browser/pending-requests/pending-request.js'
import { type ValidationDeps, validateRequest } from '../../../browser/pending-requests/validate-request.js'
import { errorUri } from '../../../http/send-oauth-error.js'
import { technicalDetails } from '../../../http/technical-details.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { queryOfAttempt, restartUrl } from './foreign-sign-in.js'
import type { ForeignSignIn } from './sign-in-attempt-store.js'

/** The texts are `sign_in_problem.<reason>.title`, `.message` and `.advice` of the message files. */
export const SIGN_IN_PROBLEMS = [
  ...(['not_linked', 'not_confirmed', 'other_browser', 'unknown'] as const),
  ...(['stopped', 'unavailable', 'misconfigured', 'not_admitted', 'too_many'] as const),
  ...(['linked_elsewhere', 'link_over'] as const)
] as const

export type SignInProblem = {
  status: number
  reason: (typeof SIGN_IN_PROBLEMS)[number]
  /** Name of the provider or login page. */
  label: string
  /** Undefined if the response belongs to no sign-in of this browser. */
  attempt: Pick<ForeignSignIn, 'query' | 'way' | 'purpose'> | undefined
}

/**
 * The page for a sign-in that a provider or login page did not complete: again, the other ways, and back to the app. The client
 * gets `access_denied` only if the user chooses that.
 */
export async function showSignInProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, reason, label, attempt }: SignInProblem,
  deps: ValidationDeps & Pick<ForeignSignInDeps, 'issuer' | 'ways'>
): Promise<FastifyReply> {
  const { issuer, ways } = deps
  const query = attempt?.query ?? ''
  const text = (part: string) => ({ key: `sign_in_problem.${reason}.${part}`, values: { label } })
  const validated = query === '' ? undefined : await validateRequest(storedRequest(query), deps, request)
  // A link to the address of a client that no operator has seen would lead there before the user has decided.
  const authorization = validated?.kind === 'accepted' && !validated.showsErrors ? validated : undefined
  return reply.code(status).view('sign-in-problem.hbs', {
    title: text('title'),
    message: text('message'),
    advice: text('advice'),
    ...waysOn(attempt, label, { issuer, ways }),
    clientName: authorization?.client.name ?? '',
    backUrl: authorization === undefined ? '' : deniedLocation(authorization.request, issuer),
    technical: technicalDetails(request)
  })
}

/** The buttons for another attempt. The page at which linking starts again offers every way itself. */
function waysOn(
  attempt: SignInProblem['attempt'],
  label: string,
  { issuer, ways }: Pick<ForeignSignInDeps, 'issuer' | 'ways'>
) {
  const tryAgain = { key: 'page_error.try_again' }
  const restart = attempt && restartUrl(attempt, issuer)
  if (restart !== undefined) return { againUrl: restart, again: tryAgain, foreign: [], localUrl: '' }
  const stepQuery = attempt === undefined ? '' : queryOfAttempt(attempt)
  const others = ways.foreign.filter(({ id }) => id !== attempt?.way)
  const again = ways.foreign.find(({ id }) => id === attempt?.way)
  return {
    againUrl: again === undefined ? `${issuer}/login` : stepUrl(issuer, again.path, stepQuery),
    again: again === undefined ? tryAgain : { key: 'sign_in_problem.again', values: { label } },
    foreign: others.map((way) => ({ label: way.label, url: stepUrl(issuer, way.path, stepQuery) })),
    localUrl: ways.local && attempt !== undefined ? stepUrl(issuer, '/login', stepQuery, { again: 'interrupted' }) : ''
  }
}

type Denied = Parameters<typeof errorLocation>[0]

function deniedLocation(request: Omit<Denied, 'issuer'>, issuer: string): string {
  const denied = { error: 'access_denied', description: 'The user did not sign in.' } as const
  return errorLocation({ ...request, issuer }, { ...denied, errorUri: errorUri(issuer, denied.error) })
}
