import type { Client } from './client.js'
import { INVALID_GRANT, OAuthError } from './oauth-error.js'
import type { FormParameters } from './parameters.js'
import { codeChallengeOf, isCodeVerifier } from './pkce.js'
import { parseScope } from './scope.js'

/** An exchange of a code (RFC 6749 §4.1.3). */
export type CodeRedemption = {
  grantType: 'authorization_code'
  code: string
  redirectUri: string
  /** The S256 challenge of the presented verifier; undefined without a verifier. */
  codeChallenge: string | undefined
  resource: string | undefined
}

/** A refresh (RFC 6749 §6). */
export type RefreshRequest = {
  grantType: 'refresh_token'
  refreshToken: string
  scope: readonly string[] | undefined
  resource: string | undefined
}

const SINGLE_PARAMETERS = ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource']

/** Refuses a parameter that is repeated or cannot be decoded. @throws {OAuthError} */
export function requireSingleParameters(form: FormParameters): void {
  for (const name of SINGLE_PARAMETERS) {
    if (form.isRepeated(name)) throw new OAuthError('invalid_request', `The parameter ${name} must be sent once.`)
    if (form.isMalformed(name)) throw new OAuthError('invalid_request', `The parameter ${name} is malformed.`)
  }
}

/** Reads the token request of an authenticated client. @throws {OAuthError} */
export function readTokenRequest(
  form: FormParameters,
  client: Pick<Client, 'clientId' | 'issuesRefreshTokens'>
): CodeRedemption | RefreshRequest {
  const grantType = required(form, 'grant_type')
  if (grantType === 'authorization_code') return readCodeRedemption(form)
  if (grantType === 'refresh_token') return readRefreshRequest(form, client)
  throw new OAuthError('unsupported_grant_type', 'The only grant types are authorization_code and refresh_token.')
}

function readCodeRedemption(form: FormParameters): CodeRedemption {
  const code = required(form, 'code')
  const redirectUri = required(form, 'redirect_uri')
  const verifier = form.get('code_verifier')
  if (verifier !== undefined && !isCodeVerifier(verifier)) {
    throw new OAuthError('invalid_grant', INVALID_GRANT, { reason: 'malformed_verifier' })
  }
  return {
    grantType: 'authorization_code',
    code,
    redirectUri,
    codeChallenge: verifier === undefined ? undefined : codeChallengeOf(verifier),
    resource: form.get('resource')
  }
}

function readRefreshRequest(
  form: FormParameters,
  { clientId, issuesRefreshTokens }: Pick<Client, 'clientId' | 'issuesRefreshTokens'>
): RefreshRequest {
  const refreshToken = required(form, 'refresh_token')
  const text = form.get('scope')
  const scope = text === undefined ? undefined : parseScope(text)
  if (text !== undefined && scope === undefined) throw new OAuthError('invalid_scope', 'The scope is malformed.')
  if (!issuesRefreshTokens) {
    throw new OAuthError('unauthorized_client', 'This client is not registered for refresh tokens.', { clientId })
  }
  return { grantType: 'refresh_token', refreshToken, scope, resource: form.get('resource') }
}

function required(form: FormParameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`)
  return value
}
