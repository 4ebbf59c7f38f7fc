import { authorizationUrl, completeAuthorization, newVerifier, responseParameters } from '../authorization.js'
import type { Check } from '../check.js'
import { firstTokens, newCode, redeem, refresh, refreshTokenOf } from '../grant.js'
import type { Received } from '../http.js'
import { failed, type Outcome, PROFILES, passed, verdict } from '../outcome.js'
import type { Session } from '../session.js'
import { expectTokenError, tokenMembers } from '../token-request.js'
import { expectIssAnnounced } from './authorization-checks.js'
import { evaluateNoStore } from './token-endpoint-checks.js'

const FLOW = { level: 'MUST', profiles: PROFILES, needs: ['client', 'sign-in'] } as const

/** What a server says to a code with a wrong binding. */
const WRONG_BINDING = ['invalid_grant']

/** A second exchange of the first code. */
function replay(session: Session): Promise<Received> {
  return session.once('replay', async () => redeem(session, (await firstTokens(session)).code))
}

/** Checks of the authorization code: they need a user who signs in. */
export const codeChecks: readonly Check[] = [
  {
    id: 'code-state',
    title: 'the response with the code has the state of the request, unchanged',
    section: 'RFC 6749 §4.1.2',
    ...FLOW,
    hint: 'Encode state once; do not decode, trim or filter it.',
    async run(session) {
      const { state, answer } = (await firstTokens(session)).code
      return verdict(answer.get('state') === state, `state came back as ${JSON.stringify(answer.get('state'))}`)
    }
  },
  {
    id: 'code-iss',
    title: 'the response with the code has iss, the issuer',
    section: 'RFC 9207 §2',
    ...FLOW,
    hint: 'Send the issuer of the metadata, character by character.',
    async run(session) {
      expectIssAnnounced(session)
      const iss = (await firstTokens(session)).code.answer.get('iss')
      return verdict(iss === session.issuer, `iss is ${JSON.stringify(iss)}`)
    }
  },
  {
    id: 'code-response-without-token',
    title: 'the response with the code has no access token',
    section: 'RFC 9700 §2.1.2',
    ...FLOW,
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Issue tokens at the token endpoint only.',
    async run(session) {
      const { answer } = (await firstTokens(session)).code
      return verdict(!answer.has('access_token'), 'the redirect has an access token')
    }
  },
  {
    id: 'token-response',
    title: 'the token response is JSON with access_token, token_type and a numeric expires_in',
    section: 'RFC 6749 §5.1',
    ...FLOW,
    hint: 'token_type is Bearer or DPoP; expires_in is a JSON number of seconds.',
    run: async (session) => evaluateTokenResponse(session, (await firstTokens(session)).response)
  },
  {
    id: 'token-no-store',
    title: 'the token response has Cache-Control: no-store',
    section: 'RFC 6749 §5.1',
    ...FLOW,
    hint: 'Set it on every response of the token endpoint.',
    run: async (session) => evaluateNoStore((await firstTokens(session)).response)
  },
  {
    id: 'code-single-use',
    title: 'a code is exchanged once',
    section: 'RFC 6749 §4.1.2',
    ...FLOW,
    hint: 'Take the code in one atomic step.',
    run: async (session) => expectTokenError(session, await replay(session), WRONG_BINDING)
  },
  {
    id: 'code-reuse-ends-tokens',
    title: 'the second use of a code ends the tokens of the first',
    section: 'RFC 6749 §4.1.2',
    ...FLOW,
    level: 'SHOULD',
    hint: 'Remember used codes with their grant at least as long as its access tokens live.',
    async run(session) {
      const refreshToken = refreshTokenOf(await firstTokens(session))
      await replay(session)
      return expectTokenError(session, await refresh(session, refreshToken), WRONG_BINDING)
    }
  },
  {
    id: 'code-wrong-verifier',
    title: 'a code with a wrong verifier is refused',
    section: 'RFC 7636 §4.6',
    ...FLOW,
    hint: 'Compare the hash of the verifier with the challenge of the request.',
    run: async (session) => exchangeChanged(session, { code_verifier: newVerifier() })
  },
  {
    id: 'code-missing-verifier',
    title: 'a code of a request with PKCE is refused without verifier',
    section: 'RFC 9700 §2.1.1',
    ...FLOW,
    hint: 'A stored challenge makes the verifier required.',
    run: async (session) =>
      exchangeChanged(session, { code_verifier: undefined }, [...WRONG_BINDING, 'invalid_request'])
  },
  {
    id: 'code-verifier-without-challenge',
    title: 'a verifier is refused if the request had no challenge',
    section: 'RFC 9700 §2.1.1',
    ...FLOW,
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Otherwise an attacker can remove the challenge from a request (PKCE downgrade).',
    run: (session) => evaluateDowngrade(session)
  },
  {
    id: 'code-wrong-redirect-uri',
    title: 'a code with another redirect_uri is refused',
    section: 'RFC 6749 §4.1.3',
    ...FLOW,
    profiles: ['bcp', 'valetkey'],
    hint: 'Compare with the redirect_uri of the authorization request.',
    run: (session) => exchangeChanged(session, { redirect_uri: 'https://stranger.invalid/callback' })
  },
  {
    id: 'code-of-another-client',
    title: 'a code of another client is refused',
    section: 'RFC 6749 §4.1.3',
    ...FLOW,
    needs: ['client', 'other client', 'sign-in'],
    hint: 'Compare the authenticated client with the client of the authorization request.',
    async run(session) {
      const response = await redeem(session, await newCode(session), {}, session.otherClient())
      return expectTokenError(session, response, WRONG_BINDING)
    }
  }
]

async function exchangeChanged(
  session: Session,
  change: Record<string, string | undefined>,
  errors = WRONG_BINDING
): Promise<Outcome> {
  return expectTokenError(session, await redeem(session, await newCode(session), change), errors)
}

async function evaluateDowngrade(session: Session): Promise<Outcome> {
  const without = { code_challenge: undefined, code_challenge_method: undefined }
  const answer = await completeAuthorization(session, authorizationUrl(session, without))
  // Without a challenge there is no code, so there is nothing to downgrade.
  if (answer.kind === 'refused') return passed
  const parameters = responseParameters(answer.to)
  const code = parameters.get('code')
  if (code === null) return passed
  const verifier = newVerifier()
  session.remember(code, verifier)
  const response = await redeem(session, { code, verifier, state: '', answer: parameters })
  return expectTokenError(session, response, [...WRONG_BINDING, 'invalid_request'])
}

function evaluateTokenResponse(session: Session, response: Received): Outcome {
  const type = response.headers.get('content-type') ?? 'missing'
  if (!/^application\/json\s*(;|$)/i.test(type)) return failed(`Content-Type is ${type}`)
  if (response.status !== 200) return failed(`status is ${response.status}`)
  const { token_type: tokenType, expires_in: expiresIn } = tokenMembers(session, response)
  if (typeof tokenType !== 'string' || tokenType === '') return failed('token_type is missing')
  const isTime = expiresIn === undefined || (typeof expiresIn === 'number' && expiresIn > 0)
  return verdict(isTime, `expires_in is ${JSON.stringify(expiresIn)}`)
}
