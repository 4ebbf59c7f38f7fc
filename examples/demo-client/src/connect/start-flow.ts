import { buildAuthorizationUrl, calculatePKCECodeChallenge, randomPKCECodeVerifier, randomState } from 'openid-client'
import { rememberFlow } from '../session/pending-flows.js'
import type { Session } from '../session/session-store.js'
import type { Discover } from './authorization-server.js'

const SCOPE = 'files.read'

export type StartDeps = { discover: Discover; redirectUri: string; now: () => number }

/** Returns the address to send the browser to; state and verifier stay here (RFC 6749 §10.12, RFC 7636 §4.1). */
export async function startFlow(session: Session, deps: StartDeps): Promise<URL> {
  const authorizationServer = await deps.discover()
  const state = randomState()
  const codeVerifier = randomPKCECodeVerifier()
  const codeChallenge = await calculatePKCECodeChallenge(codeVerifier)
  rememberFlow(session.pendingFlows, state, { codeVerifier, startedAt: deps.now() })
  return buildAuthorizationUrl(authorizationServer, {
    redirect_uri: deps.redirectUri,
    scope: SCOPE,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256'
  })
}
