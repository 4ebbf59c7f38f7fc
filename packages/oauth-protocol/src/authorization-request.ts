import type { Client } from './client.js'
import type { OAuthErrorCode } from './oauth-error.js'
import type { FormParameters } from './parameters.js'
import { isCodeChallenge } from './pkce.js'
import { isRegisteredRedirectUri } from './redirect-uri.js'
import { type AccessCatalogue, evaluateRequestedAccess } from './requested-access.js'

const PROMPTS = ['none', 'login', 'select_account', 'consent'] as const

/** A value of the parameter `prompt` (OpenID Connect Core §3.1.2.1). */
export type Prompt = (typeof PROMPTS)[number]

export type AuthorizationRequest = {
  clientId: string
  redirectUri: string
  scope: readonly string[]
  /** Resource identifier of the API that the token is for, as registered (RFC 8707). */
  audience: string
  state: string | undefined
  codeChallenge: string | undefined
  prompt: readonly Prompt[]
}

export type AuthorizationOutcome =
  | { kind: 'show_error_page'; reason: 'unknown_client' | 'redirect_uri_mismatch' }
  | {
      kind: 'redirect_error'
      redirectUri: string
      state: string | undefined
      error: OAuthErrorCode
      description: string
    }
  | { kind: 'accepted'; request: AuthorizationRequest }

export type AuthorizationOptions = {
  /** The enabled client of that client_id. */
  client: Client | undefined
  catalogue: AccessCatalogue
}

type Refusal = { error: OAuthErrorCode; description: string }

/** Validates the query of an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.4.1, RFC 8707 §2, RFC 9700 §2.1). */
export function validateAuthorizationRequest(
  parameters: FormParameters,
  context: AuthorizationOptions
): AuthorizationOutcome {
  // No redirect before these two checks: it would make this an open redirector (RFC 6749 §4.1.2.1).
  const { client } = context
  if (client === undefined || parameters.get('client_id') !== client.clientId) {
    return { kind: 'show_error_page', reason: 'unknown_client' }
  }
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined || !isRegisteredRedirectUri(redirectUri, client.redirectUris)) {
    return { kind: 'show_error_page', reason: 'redirect_uri_mismatch' }
  }

  // The redirect URI is registered, so errors are sent to it. Repeated and malformed parameters come first, because they
  // have no value that the later checks could use. Scope and resource come last, because they belong to a code request.
  const state = parameters.get('state')
  const refusal =
    refuseShape(parameters) ??
    refuseResponseType(parameters) ??
    refuseCodeChallenge(parameters, client) ??
    refusePrompt(parameters)
  if (refusal !== undefined) return { kind: 'redirect_error', redirectUri, state, ...refusal }
  const sent = { scope: parameters.get('scope'), resource: parameters.get('resource') }
  const access = evaluateRequestedAccess(sent, client, context.catalogue)
  if (access.kind === 'refused') return { ...access, kind: 'redirect_error', redirectUri, state }

  return {
    kind: 'accepted',
    request: {
      clientId: client.clientId,
      redirectUri,
      scope: access.scope,
      audience: access.audience,
      state,
      codeChallenge: parameters.get('code_challenge'),
      prompt: readPrompt(parameters)
    }
  }
}

const SINGLE_PARAMETERS = [
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt'
]

function refuseShape(parameters: FormParameters): Refusal | undefined {
  const repeated = SINGLE_PARAMETERS.find((name) => parameters.isRepeated(name))
  if (repeated) return { error: 'invalid_request', description: `The parameter ${repeated} must be sent once.` }
  const malformed = SINGLE_PARAMETERS.find((name) => parameters.isMalformed(name))
  if (malformed) return { error: 'invalid_request', description: `The parameter ${malformed} is malformed.` }
  return undefined
}

function refuseResponseType(parameters: FormParameters): Refusal | undefined {
  const responseType = parameters.get('response_type')
  if (responseType === 'code') return undefined
  return responseType === undefined
    ? { error: 'invalid_request', description: 'The parameter response_type is missing.' }
    : { error: 'unsupported_response_type', description: 'The only response_type is code.' }
}

function refuseCodeChallenge(parameters: FormParameters, client: Client): Refusal | undefined {
  const challenge = parameters.get('code_challenge')
  const method = parameters.get('code_challenge_method')
  const refuse = (description: string): Refusal => ({ error: 'invalid_request', description })
  if (challenge === undefined) {
    if (method !== undefined) return refuse('code_challenge_method was sent without code_challenge.')
    const needed = client.type === 'public' || client.requiresPkce
    return needed ? refuse('This client must send a code_challenge (PKCE).') : undefined
  }
  // A challenge without a method would mean `plain` (RFC 7636 §4.3), which does not protect the code.
  if (method !== 'S256') return refuse('The only code_challenge_method is S256.')
  return isCodeChallenge(challenge) ? undefined : refuse('code_challenge is not 43 base64url characters.')
}

/** `none` excludes every other value, also an unknown one. Other unknown values are ignored. */
function refusePrompt(parameters: FormParameters): Refusal | undefined {
  const values = promptValues(parameters)
  if (!values.includes('none') || values.every((value) => value === 'none')) return undefined
  return { error: 'invalid_request', description: 'The prompt none cannot be combined with another value.' }
}

/** The known values of `prompt`. */
export function readPrompt(parameters: FormParameters): readonly Prompt[] {
  const values = promptValues(parameters)
  return values.length === 0 ? [] : PROMPTS.filter((prompt) => values.includes(prompt))
}

function promptValues(parameters: FormParameters): readonly string[] {
  const prompt = parameters.get('prompt')
  return prompt === undefined ? [] : prompt.split(' ').filter((value) => value !== '')
}
