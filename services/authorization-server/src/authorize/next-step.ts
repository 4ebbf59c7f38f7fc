import { type AuthorizationRequest, type Client, isWithinScope } from '@valetkey/oauth-protocol'
import { remembersConsent } from '../clients/remembers-consent.js'

export type NextStep = { kind: 'sign_in' } | { kind: 'ask_consent' } | { kind: 'issue_code' }

export type Situation = {
  signedIn: boolean
  client: Client
  request: AuthorizationRequest
  /** What this user has allowed this client before, where the client is registered to remember it. */
  rememberedScope: readonly string[]
}

/** What has to happen next for an accepted request. The only place that knows the order of the steps. */
export function nextStep({ signedIn, client, request, rememberedScope }: Situation): NextStep {
  if (!signedIn) return { kind: 'sign_in' }
  return remembersConsent(client) && isWithinScope(request.scope, rememberedScope)
    ? { kind: 'issue_code' }
    : { kind: 'ask_consent' }
}
