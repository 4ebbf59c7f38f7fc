import { type FormParameters, parseParameters, withoutParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { queryOf, rawQuery } from '../../platform/request-parts.js'
import type { PendingRequest, PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { hashId, isRandomId, newRandomId } from '../session/random-id.js'

// Parameters of Valetkey itself, appended to the client's query.
/** The id of a pending authorization request. */
const RESUME = 'resume'
/** Why the browser comes to a step again. */
const AGAIN = 'again'
const OWN = [RESUME, AGAIN]

export type StepPath = '/oauth/authorize' | '/login' | '/consent' | '/logout' | `/login/${string}`

/** `no_cookie`: the browser did not send our cookie. `interrupted`: the form that it sent could not be accepted. */
export type Again = 'no_cookie' | 'interrupted'

/** A stored authorization request whose user is being asked. Only the address of its page contains the id. */
export type PendingAuthorizationRequest = PendingRequest & { id: string }

type Owner = { userId: string; sessionHash: string }

/** The client's query without the parameters of Valetkey. Empty if the address contains no authorization request. */
export function clientQuery(request: FastifyRequest): string {
  const parameters = queryOf(request)
  if (parameters.get('client_id') === undefined && !parameters.isRepeated('client_id')) return ''
  return withoutParameters(rawQuery(request), OWN)
}

/** A client's query, and the parameters in it. */
export type SentRequest = { query: string; parameters: FormParameters }

/** The authorization request in the address. Among its parameters may be those of Valetkey, which no rule reads. */
export function sentRequest(request: FastifyRequest): SentRequest {
  return { query: clientQuery(request), parameters: queryOf(request) }
}

/** An authorization request whose query was stored, while the browser was at another address. */
export function storedRequest(query: string): SentRequest {
  return { query, parameters: parseParameters(query) }
}

/** Why the browser comes to this step again. Undefined at its first visit. */
export function reasonForReturn(request: FastifyRequest): Again | undefined {
  const again = queryOf(request).get(AGAIN)
  return again === 'no_cookie' || again === 'interrupted' ? again : undefined
}

/** The address of a step. It contains the whole request, so that nothing is stored before sign-in. */
export function stepUrl(
  issuer: string,
  step: StepPath,
  query: string,
  own: { resume?: string | undefined; again?: Again | undefined } = {}
): string {
  const resume = own.resume === undefined ? '' : `${RESUME}=${own.resume}`
  const again = own.again === undefined ? '' : `${AGAIN}=${own.again}`
  const parts = [query, resume, again].filter((part) => part !== '')
  return `${issuer}${step}${parts.length > 0 ? '?' : ''}${parts.join('&')}`
}

/** Stores a client's query as pending for this user, browser and session. */
export async function addPendingRequest(
  browserId: string,
  query: string,
  owner: Owner,
  pending: Pick<PendingRequestStore, 'add'>
): Promise<PendingAuthorizationRequest> {
  const added = describe(newRandomId(), browserId, query, owner)
  await pending.add(added)
  return added
}

/** The pending authorization request that the address names. The store decides whether it exists. */
export function namedPendingRequest(
  request: FastifyRequest,
  owner: Owner | undefined
): PendingAuthorizationRequest | undefined {
  const id = queryOf(request).get(RESUME)
  if (!isRandomId(id) || owner === undefined || !request.browserIsKnown) return undefined
  return describe(id, request.browserId, clientQuery(request), owner)
}

/** Another query, browser or session gives another hash, which is not stored. */
function describe(
  id: string,
  browserId: string,
  query: string,
  { userId, sessionHash }: Owner
): PendingAuthorizationRequest {
  const hash = hashId([id, browserId, sessionHash, query].join('\n'))
  return { id, userId, hash }
}
