import { errorUri } from '../../http/send-oauth-error.js'
import type { RefusedEndpoint, StoredClientRefusal } from './client-refusal-store.js'
import { textsOfReason } from './shown-reason.js'

const PATHS: Readonly<Record<RefusedEndpoint, string>> = {
  authorize: '/oauth/authorize',
  par: '/oauth/par',
  token: '/token',
  revoke: '/oauth/revoke',
  leaked: '/tokens/leaked'
}

/** One refused request for its developer. Empty: the page does not have that line. */
export function refusalView(refusal: StoredClientRefusal, issuer: string) {
  const { error, requestId, authenticated } = refusal
  const time = refusal.occurredAt.toISOString()
  return {
    ...textsOfReason(refusal.reason),
    time,
    // The time has seconds and is in UTC, as in logs.
    shownTime: `${time.slice(0, 19).replace('T', ' ')} UTC`,
    endpoint: PATHS[refusal.endpoint],
    error,
    errorUrl: errorUri(issuer, error),
    description: refusal.description ?? '',
    redirectUri: refusal.redirectUri ?? '',
    requestId,
    authenticated
  }
}
