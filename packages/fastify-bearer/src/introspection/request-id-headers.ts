/** What a Valetkey server takes over into its log; an id of another kind stays here. */
const TAKEN_OVER = /^[\w.-]{8,64}$/

/** Together with the first, as many as there may be tokens in a call. */
const MOST_OTHERS = 63

/**
 * A call carries the id of the first request that it is made for, and beside it those of the others, so that each is found
 * in both logs.
 */
export function requestIdHeaders(requestIds: readonly string[]): Record<string, string> {
  const [first = '', ...others] = requestIds.length > 1 ? new Set(requestIds) : requestIds
  const listed = others.filter((id) => TAKEN_OVER.test(id)).slice(0, MOST_OTHERS)
  return { 'x-request-id': first, ...(listed.length > 0 && { 'x-other-request-ids': listed.join(',') }) }
}
