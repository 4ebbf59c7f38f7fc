import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { Config } from '../../config.js'

const MOST_NAMED = 5

type Settings = Pick<Config, 'pushedRequests'> & {
  clientMetadata: { policy: Pick<Config['clientMetadata']['policy'], 'mode'> }
}

/** Whether every client can send its requests as it must. @param pushingClients ids of clients that must push them */
export function evaluatePushedRequests(
  { pushedRequests, clientMetadata: { policy } }: Settings,
  pushingClients: readonly string[]
): Finding {
  const check = 'PUSHED_REQUESTS'
  if (pushedRequests === 'off') {
    if (pushingClients.length === 0) return ok(check, 'is off, and no client must push its requests')
    return warning(check, {
      what: `is off, but these clients must push their requests: ${listed(pushingClients)}`,
      why: 'No user can sign in to them.',
      fix: 'set PUSHED_REQUESTS to allowed, or update them with --no-require-par'
    })
  }
  if (pushedRequests === 'required' && policy.mode !== 'off') {
    return warning(check, {
      what: `is required, and CLIENT_ID_METADATA is ${policy.mode}`,
      why: 'A client id URL can push only after a user has allowed it, so no user can connect a new one.',
      fix: 'set PUSHED_REQUESTS to allowed, and update the clients that must push with --require-par'
    })
  }
  return ok(check, `is ${pushedRequests}`)
}

function listed(clientIds: readonly string[]): string {
  const rest = clientIds.length - MOST_NAMED
  return `${clientIds.slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
