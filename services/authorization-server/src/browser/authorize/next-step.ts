import { type AuthorizationRequest, type Client, isWithinScope } from '@valetkey/oauth-protocol'
import { remembersConsent } from '../../platform/clients/remembers-consent.js'

export type NextStep =
  | { kind: 'sign_in' }
  | { kind: 'ask_consent' }
  | { kind: 'issue_code' }
  /** Find out who is asking, and come back. */
  | { kind: 'look_up' }

export type Asking =
  /** No session. */
  | { kind: 'nobody' }
  /** A session that may have ended; nothing has been looked up. */
  | { kind: 'unverified_session' }
  | {
      kind: 'signed_in'
      /** What this user has allowed this client before, where the client is registered to remember it. */
      rememberedScope: readonly string[]
    }

export type Situation = { asking: Asking; client: Client; request: AuthorizationRequest }

/** What has to happen next for an accepted request. The only place that knows the order of the steps. */
export function nextStep({ asking, client, request }: Situation): NextStep {
  switch (asking.kind) {
    case 'nobody':
      return { kind: 'sign_in' }
    case 'unverified_session':
      // Mostly it is alive and the scope remembered. The statement that opens the grant asks for both anyway; when it
      // declines, nothing has happened yet.
      return remembersConsent(client) ? { kind: 'issue_code' } : { kind: 'look_up' }
    case 'signed_in':
      return remembersConsent(client) && isWithinScope(request.scope, asking.rememberedScope)
        ? { kind: 'issue_code' }
        : { kind: 'ask_consent' }
  }
}
