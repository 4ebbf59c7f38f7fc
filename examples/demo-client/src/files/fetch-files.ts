import { type FilePage, parseFilePage } from './file-page.js'

export type FetchOutcome =
  | { kind: 'listed'; page: FilePage }
  | { kind: 'token_refused' }
  | { kind: 'permission_missing' }
  | { kind: 'page_gone' }
  | { kind: 'unreachable'; cause: unknown }

export type FetchFiles = (accessToken: string, pageToken: string | undefined) => Promise<FetchOutcome>

const TIME_LIMIT_MS = 8_000

/** Fetches a page of the user's files with the bearer token in the header (RFC 6750 §2.1). */
export function filesFrom(resourceUrl: string): FetchFiles {
  return async (accessToken, pageToken) => {
    const address = new URL(`${resourceUrl}/v1/files`)
    if (pageToken !== undefined) address.searchParams.set('page_token', pageToken)
    try {
      const response = await fetch(address, {
        headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json' },
        // A redirect could carry the token to somewhere else.
        redirect: 'error',
        signal: AbortSignal.timeout(TIME_LIMIT_MS)
      })
      return await outcomeOf(response, pageToken)
    } catch (cause) {
      return { kind: 'unreachable', cause }
    }
  }
}

async function outcomeOf(response: Response, pageToken: string | undefined): Promise<FetchOutcome> {
  if (response.status === 200) {
    const page = parseFilePage(await response.json())
    return page === undefined ? unexpected('an answer that is not a list of files') : { kind: 'listed', page }
  }
  await response.body?.cancel()
  if (response.status === 401) return { kind: 'token_refused' }
  if (response.status === 403) return { kind: 'permission_missing' }
  if (response.status === 400 && pageToken !== undefined) return { kind: 'page_gone' }
  return unexpected(`status ${response.status}`)
}

const unexpected = (what: string): FetchOutcome => ({
  kind: 'unreachable',
  cause: new Error(`the files API responded with ${what}`)
})
