import type { IncomingHttpHeaders } from 'node:http'

/** Request ids that are accepted from a caller, because they are written to logs and responses. */
export const REQUEST_ID = /^[A-Za-z0-9_.-]{8,64}$/

/** A list has at most 63 ids, because a call has at most 64 tokens. */
const LIST = /^[A-Za-z0-9_.-]{8,64}(?:,[A-Za-z0-9_.-]{8,64}){0,62}$/

/**
 * `X-Other-Request-Ids`. A resource server introspects the tokens of several requests in one call, whose own id is that of the
 * first request.
 */
export function otherRequestIds({ 'x-other-request-ids': given }: IncomingHttpHeaders): readonly string[] | undefined {
  return typeof given === 'string' && LIST.test(given) ? given.split(',') : undefined
}
