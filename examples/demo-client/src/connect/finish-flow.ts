import { authorizationCodeGrant } from 'openid-client'
import { takeFlow } from '../session/pending-flows.js'
import type { Session } from '../session/session-store.js'
import type { Discover } from './authorization-server.js'
import { type Failure, failureOf } from './failure.js'
import { tokensFrom } from './token-response.js'

export type FinishDeps = { discover: Discover; redirectUri: string; now: () => number }
export type FlowOutcome = { kind: 'connected' } | { kind: 'failed'; failure: Failure }

/** Validates the authorization response, exchanges the code and stores the tokens. */
export async function finishFlow(session: Session, query: string, deps: FinishDeps): Promise<FlowOutcome> {
  const state = new URLSearchParams(query).get('state') ?? ''
  const flow = takeFlow(session.pendingFlows, state, deps.now())
  if (flow === undefined) return { kind: 'failed', failure: { problem: 'flow_unknown' } }

  // The library takes the redirect URI of the token request from this address, so it is made from the settings and not from
  // request headers.
  const callback = new URL(deps.redirectUri)
  callback.search = query
  try {
    // Checks iss (RFC 9207) and state before `error` and `code`.
    const answer = await authorizationCodeGrant(await deps.discover(), callback, {
      expectedState: state,
      pkceCodeVerifier: flow.codeVerifier
    })
    session.connection = { tokens: tokensFrom(answer, deps.now()), renewal: undefined }
    return { kind: 'connected' }
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error) }
  }
}
