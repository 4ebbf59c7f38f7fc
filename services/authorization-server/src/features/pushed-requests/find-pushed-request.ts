import { type FormParameters, hashToken, isWellFormed, parseParameters } from '@valetkey/oauth-protocol'
import type { ReferredRequest, RequestReferences } from '../../browser/pending-requests/request-references.js'
import { hashId, newRandomId } from '../../browser/session/random-id.js'
import type { PushedRequestStore } from './pushed-request-store.js'

/** What begins the `request_uri` of every pushed request (RFC 9126 §2.2). */
export const REQUEST_URN = 'urn:ietf:params:oauth:request_uri:'

/**
 * Whether the parameters name a pushed request. A URN in another case and a repeated parameter count: the user sees the same page as
 * for an expired one, because no redirect URI is known to be the client's.
 */
export function namesPushedRequest(parameters: FormParameters): boolean {
  if (parameters.isRepeated('request_uri')) return true
  const requestUri = parameters.get('request_uri')
  return requestUri !== undefined && requestUri.slice(0, REQUEST_URN.length).toLowerCase() === REQUEST_URN
}

type Store = Pick<PushedRequestStore, 'open' | 'use' | 'giveBack'>

/** Opens the request that an address names, if the same client pushed it. */
export async function findPushedRequest(
  parameters: FormParameters,
  { browserId }: Parameters<RequestReferences['find']>[1],
  includesUsed: boolean,
  store: Store
): Promise<ReferredRequest | undefined> {
  const requestUri = parameters.get('request_uri') ?? ''
  const token = requestUri.startsWith(REQUEST_URN) ? requestUri.slice(REQUEST_URN.length) : ''
  if (!isWellFormed('requestUri', token)) return undefined
  const hash = hashToken(token)
  const query = await store.open(hash, hashId(browserId), includesUsed)
  const pushed = query === undefined ? undefined : parseParameters(query)
  if (pushed === undefined || pushed.get('client_id') !== parameters.get('client_id')) return undefined
  return { parameters: pushed, use: () => usePushedRequest(hash, store) }
}

async function usePushedRequest(
  hash: ReturnType<typeof hashToken>,
  store: Store
): Promise<(() => Promise<void>) | undefined> {
  const decision = newRandomId()
  if (!(await store.use(hash, decision))) return undefined
  // The error that led here is the one to report.
  return () => store.giveBack(hash, decision).catch(() => {})
}
