import { authorizationUrl, type Change } from './authorization.js'
import type { Client } from './client-file.js'
import type { Received } from './http.js'
import { parseObject } from './metadata.js'
import { CouldNotTest, NotApplicable } from './outcome.js'
import type { Session } from './session.js'
import { postForm } from './token-request.js'

/** @throws NotApplicable if the server announces none */
function pushEndpoint({ metadata: { document } }: Session): string {
  const url = document.pushed_authorization_request_endpoint
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw new NotApplicable('the metadata has no pushed_authorization_request_endpoint')
}

/** Pushes an authorization request, with changes (RFC 9126 §2.1). */
export function push(session: Session, change: Change = {}, as: Client = session.client()): Promise<Received> {
  const { searchParams } = authorizationUrl(session, change)
  // The authentication of the client has it.
  searchParams.delete('client_id')
  return postForm(session, pushEndpoint(session), [...searchParams], as)
}

/** @returns undefined if the response has none */
export function requestUriIn(session: Session, { body }: Received): string | undefined {
  const requestUri = parseObject(body)?.request_uri
  if (typeof requestUri !== 'string') return undefined
  session.remember(requestUri)
  return requestUri
}

/** The address for the browser (RFC 9126 §4). */
export function pushedUrl(session: Session, requestUri: string, { id }: Client = session.client()): URL {
  const url = new URL(session.metadata.authorizationEndpoint)
  url.searchParams.set('client_id', id)
  url.searchParams.set('request_uri', requestUri)
  return url
}

/** @throws CouldNotTest if the server takes no pushed request */
export async function newPushedRequest(session: Session): Promise<string> {
  const response = await push(session)
  const requestUri = requestUriIn(session, response)
  if (requestUri === undefined) throw new CouldNotTest(`the server did not take a pushed request (${response.status})`)
  return requestUri
}
