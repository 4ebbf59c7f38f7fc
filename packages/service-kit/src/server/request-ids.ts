import type { IncomingHttpHeaders } from 'node:http'

/** What is taken over from a caller: it goes into logs and answers. */
export const REQUEST_ID = /^[A-Za-z0-9_.-]{8,64}$/

/** As many questions as share one call at most. */
const LIST = /^[A-Za-z0-9_.-]{8,64}(?:,[A-Za-z0-9_.-]{8,64}){0,62}$/

/**
 * `X-Other-Request-Ids`: whose else this call is. A resource server asks for several of its requests in one call; the first
 * one's id is that of the call.
 */
export function otherRequestIds({ 'x-other-request-ids': given }: IncomingHttpHeaders): readonly string[] | undefined {
  return typeof given === 'string' && LIST.test(given) ? given.split(',') : undefined
}
