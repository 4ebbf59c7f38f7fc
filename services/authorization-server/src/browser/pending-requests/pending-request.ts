import { parseParameters, withoutParameter } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { rawQuery } from '../../platform/request-parts.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { digestId, isRandomId, newRandomId } from '../session/random-id.js'
import type { SignedIn } from '../session/session-plugin.js'

// FormParameters of our own. They stand after the client's own query.
/** Carries the id of a held request to the consent page. */
const RESUME = 'resume'
/** Says why the browser comes to a step again. */
const AGAIN = 'again'

export type Step = '/oauth/authorize' | '/login' | '/consent' | '/logout'

/** `no_cookie`: it came without our cookie. `interrupted`: the form that it sent could not be accepted. */
export type Again = 'no_cookie' | 'interrupted'

/** A request whose consent page was shown in this browser and session, under an id that only the page's address has. */
export type HeldRequest = PendingRequest & { id: string }

/** The client's own query in the address of a page, without our additions; empty where no client asks for anything. */
export function clientQuery(request: FastifyRequest): string {
  const query = withoutParameter(withoutParameter(rawQuery(request), RESUME), AGAIN)
  const parameters = parseParameters(query)
  return parameters.get('client_id') === undefined && !parameters.isRepeated('client_id') ? '' : query
}

/** Why the browser comes to this step again; undefined where it comes for the first time. */
export function sentAgain(request: FastifyRequest): Again | undefined {
  const again = parseParameters(rawQuery(request)).get(AGAIN)
  return again === 'no_cookie' || again === 'interrupted' ? again : undefined
}

/** The address of a step. Every address has the whole request, so that nothing of it is stored before a sign-in. */
export function stepUrl(
  issuer: string,
  step: Step,
  query: string,
  own: { resume?: string; again?: Again | undefined } = {}
): string {
  const resume = own.resume === undefined ? '' : `${RESUME}=${own.resume}`
  const again = own.again === undefined ? '' : `${AGAIN}=${own.again}`
  const parts = [query, resume, again].filter((part) => part !== '')
  return `${issuer}${step}${parts.length > 0 ? '?' : ''}${parts.join('&')}`
}

/** Holds the request in the address for its user, who is to be asked. */
export async function holdRequest(
  request: FastifyRequest,
  user: SignedIn,
  pending: Pick<PendingRequestStore, 'hold'>
): Promise<HeldRequest> {
  const held = describe(newRandomId(), user, request)
  await pending.hold(held)
  return held
}

/** The request that the address of the consent page names, whether or not it is held. */
export function namedRequest(request: FastifyRequest): HeldRequest | undefined {
  const id = parseParameters(rawQuery(request)).get(RESUME)
  if (!isRandomId(id) || request.signedIn === undefined || !request.browserIsKnown) return undefined
  return describe(id, request.signedIn, request)
}

/** Another query, browser or session makes another digest, which is not held. */
function describe(id: string, { userId, sessionDigest }: SignedIn, request: FastifyRequest): HeldRequest {
  const digest = digestId([id, request.browserId, sessionDigest, clientQuery(request)].join('\n'))
  return { id, userId, digest }
}
