import {
  authorizationUrl,
  type Change,
  challengeOf,
  completeAuthorization,
  newVerifier,
  responseParameters
} from './authorization.js'
import type { Client } from './client-file.js'
import type { Received } from './http.js'
import { CouldNotTest, NotApplicable } from './outcome.js'
import type { Session } from './session.js'
import { postToken, tokenMembers } from './token-request.js'

export type Code = { code: string; verifier: string; state: string; answer: URLSearchParams }
export type Tokens = { response: Received; accessToken: string; refreshToken: string | undefined }

/** A state with characters that a careless server changes; all are allowed (RFC 6749 appendix A.5). */
const STATE = 'a b+c%20d&e=f/"~'

/**
 * The user signs in and allows access.
 * @throws CouldNotTest if the server issues no code
 */
export async function newCode(session: Session, change: Change = {}): Promise<Code> {
  const verifier = newVerifier()
  session.remember(verifier)
  const request = authorizationUrl(session, { code_challenge: challengeOf(verifier), state: STATE, ...change })
  const done = await completeAuthorization(session, request)
  if (done.kind === 'refused') throw new CouldNotTest('the server refused a valid authorization request')
  const answer = responseParameters(done.to)
  const code = answer.get('code')
  if (code === null) throw new CouldNotTest(`the server issued no code (error: ${answer.get('error') ?? 'none'})`)
  session.remember(code)
  return { code, verifier, state: STATE, answer }
}

/** Sends a code to the token endpoint, with changed parameters, as another client or with a DPoP proof (RFC 6749 §4.1.3). */
export function redeem(
  session: Session,
  code: Code,
  change: Record<string, string | undefined> = {},
  as?: Client,
  proof?: string
) {
  const client = session.client()
  const fields = {
    grant_type: 'authorization_code',
    code: code.code,
    redirect_uri: client.redirectUri,
    code_verifier: code.verifier,
    resource: session.resource?.identifier,
    ...change
  }
  return postToken(session, fields, as ?? client, proof)
}

/** @throws CouldNotTest if the server issues no tokens */
export async function newTokens(session: Session): Promise<Tokens & { code: Code }> {
  const code = await newCode(session)
  return { code, ...readTokens(session, await redeem(session, code)) }
}

export function readTokens(session: Session, response: Received): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, error } = tokenMembers(session, response)
  if (typeof accessToken !== 'string') {
    throw new CouldNotTest(`the server issued no access token (${response.status}, error: ${error ?? 'none'})`)
  }
  return { response, accessToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined }
}

/** One exchange, which several checks evaluate. */
export function firstTokens(session: Session) {
  return session.once('first tokens', () => newTokens(session))
}

/** @throws NotApplicable if the server issues no refresh tokens to this client */
export function refreshTokenOf({ refreshToken }: Tokens): string {
  return refreshToken ?? notIssued()
}

function notIssued(): never {
  throw new NotApplicable('the server issued no refresh token')
}

export function refresh(
  session: Session,
  refreshToken: string,
  change: Record<string, string> = {},
  as?: Client,
  proof?: string
) {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken, ...change }
  return postToken(session, fields, as ?? session.client(), proof)
}
