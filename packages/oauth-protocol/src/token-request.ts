import { INVALID_GRANT, OAuthError } from './oauth-error.js'
import type { FormParameters } from './parameters.js'
import { codeChallengeOf, isCodeVerifier } from './pkce.js'
import { parseScope } from './scope.js'

/** The exchange of a code (RFC 6749 §4.1.3). */
export type CodeRedemption = {
  grantType: 'authorization_code'
  code: string
  redirectUri: string
  /** The S256 challenge of the verifier that was sent; undefined when none was. */
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

/** Refuses what no later step could judge: a parameter sent twice, or not decodable. @throws {OAuthError} */
export function requireSingleParameters(form: FormParameters): void {
  for (const name of SINGLE_PARAMETERS) {
    if (form.isRepeated(name)) throw new OAuthError('invalid_request', `The parameter ${name} must be sent once.`)
    if (form.isMalformed(name)) throw new OAuthError('invalid_request', `The parameter ${name} is malformed.`)
  }
}

/** Reads a token request of a client that has proved itself. @throws {OAuthError} */
export function readTokenRequest(form: FormParameters): CodeRedemption | RefreshRequest {
  const grantType = required(form, 'grant_type')
  if (grantType === 'authorization_code') return readCodeRedemption(form)
  if (grantType === 'refresh_token') return readRefreshRequest(form)
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

function readRefreshRequest(form: FormParameters): RefreshRequest {
  const refreshToken = required(form, 'refresh_token')
  const text = form.get('scope')
  const scope = text === undefined ? undefined : parseScope(text)
  if (text !== undefined && scope === undefined) throw new OAuthError('invalid_scope', 'The scope is malformed.')
  return { grantType: 'refresh_token', refreshToken, scope, resource: form.get('resource') }
}

function required(form: FormParameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`)
  return value
}
