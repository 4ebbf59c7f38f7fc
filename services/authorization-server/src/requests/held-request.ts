import { parseParameters, withoutParameter } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { rawQuery } from '../http/form.js'
import { digestId, isRandomId, newRandomId } from '../session/random-id.js'
import type { PendingRequestStore } from '../storage/pending-requests.js'

/** The parameter that carries the id of a held request from page to page. It stands after the client's own query. */
const RESUME = 'resume'

const HOLD_SECONDS = 3600

export type Step = '/oauth/authorize' | '/login' | '/consent' | '/logout'

/** A request that is held for this browser while its user signs in and decides. */
export type HeldRequest = { id: string; query: string; browserDigest: string }

/** The client's own query in the address of a page, without our addition; empty where no client asks for anything. */
export function clientQuery(request: FastifyRequest): string {
  const query = withoutParameter(rawQuery(request), RESUME)
  const parameters = parseParameters(query)
  return parameters.get('client_id') === undefined && !parameters.isRepeated('client_id') ? '' : query
}

/** The address of a step. With the query in it, an expired or foreign id leads to the same request, started anew. */
export function stepUrl(issuer: string, step: Step, query: string, id?: string): string {
  const parts = [query, id === undefined ? '' : `${RESUME}=${id}`].filter((part) => part !== '')
  return `${issuer}${step}${parts.length > 0 ? '?' : ''}${parts.join('&')}`
}

/** Holds a request for the browser that brought it; one that is held already keeps its id. */
export async function holdRequest(request: FastifyRequest, pending: PendingRequestStore): Promise<HeldRequest> {
  const held = await findHeldRequest(request, pending)
  if (held !== undefined) return held
  const id = newRandomId()
  const record = { query: clientQuery(request), browserDigest: digestId(request.browserId) }
  await pending.save(digestId(id), record, HOLD_SECONDS)
  return { id, ...record }
}

/** The id in the address of a page, whether or not anything is held under it. */
export function namedRequest(request: FastifyRequest): string | undefined {
  const id = parseParameters(rawQuery(request)).get(RESUME)
  return isRandomId(id) ? id : undefined
}

/** The request that the address names, if it is held, for this browser, and for this very query. */
export async function findHeldRequest(
  request: FastifyRequest,
  pending: Pick<PendingRequestStore, 'find'>
): Promise<HeldRequest | undefined> {
  const id = namedRequest(request)
  if (id === undefined || !request.browserIsKnown) return undefined
  const found = await pending.find(digestId(id))
  const ours = found?.browserDigest === digestId(request.browserId) && found.query === clientQuery(request)
  return ours ? { id, ...found } : undefined
}

/** Takes it out: the decision on a request is taken once, however often its form is sent. */
export async function takeHeldRequest(held: HeldRequest, pending: Pick<PendingRequestStore, 'take'>): Promise<boolean> {
  return pending.take(digestId(held.id))
}

/** Puts a request back whose decision could not be carried out. */
export async function restoreHeldRequest(held: HeldRequest, pending: Pick<PendingRequestStore, 'save'>): Promise<void> {
  const { id, ...record } = held
  await pending.save(digestId(id), record, HOLD_SECONDS)
}
