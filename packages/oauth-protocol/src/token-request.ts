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
} & ProvenKey

/** A refresh (RFC 6749 §6). */
export type RefreshRequest = {
  grantType: 'refresh_token'
  refreshToken: string
  scope: readonly string[] | undefined
  resource: string | undefined
} & ProvenKey

/** The thumbprint of the key whose possession the request proves (RFC 9449 §5); undefined without a proof. */
type ProvenKey = { dpopJkt: string | undefined }

const SINGLE_PARAMETERS = ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource']

/** Refuses a parameter that is repeated or cannot be decoded. @throws {OAuthError} */
export function requireSingleParameters(form: FormParameters): void {
  for (const name of SINGLE_PARAMETERS) {
    if (form.isRepeated(name)) throw new OAuthError('invalid_request', `The parameter ${name} must be sent once.`)
    if (form.isMalformed(name)) throw new OAuthError('invalid_request', `The parameter ${name} is malformed.`)
  }
}

/**
 * Reads the token request of an authenticated client.
 * @param dpopJkt the thumbprint of the key of its proof
 * @throws {OAuthError}
 */
export function readTokenRequest(
  form: FormParameters,
  client: Pick<Client, 'clientId' | 'issuesRefreshTokens'>,
  dpopJkt?: string
): CodeRedemption | RefreshRequest {
  const grantType = required(form, 'grant_type')
  if (grantType === 'authorization_code') return readCodeRedemption(form, dpopJkt)
  if (grantType === 'refresh_token') return readRefreshRequest(form, client, dpopJkt)
  throw new OAuthError('unsupported_grant_type', 'The only grant types are authorization_code and refresh_token.')
}

function readCodeRedemption(form: FormParameters, dpopJkt: string | undefined): CodeRedemption {
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
    resource: form.get('resource'),
    dpopJkt
  }
}

function readRefreshRequest(
  form: FormParameters,
  { clientId, issuesRefreshTokens }: Pick<Client, 'clientId' | 'issuesRefreshTokens'>,
  dpopJkt: string | undefined
): RefreshRequest {
  const refreshToken = required(form, 'refresh_token')
  const text = form.get('scope')
  const scope = text === undefined ? undefined : parseScope(text)
  if (text !== undefined && scope === undefined) throw new OAuthError('invalid_scope', 'The scope is malformed.')
  if (!issuesRefreshTokens) {
    throw new OAuthError('unauthorized_client', 'This client is not registered for refresh tokens.', { clientId })
  }
  return { grantType: 'refresh_token', refreshToken, scope, resource: form.get('resource'), dpopJkt }
}

function required(form: FormParameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing.`)
  return value
}
