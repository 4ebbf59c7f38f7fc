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
  /** The thumbprint of the key that the code is bound to (RFC 9449 §10). */
  dpopJkt: string | undefined
  prompt: readonly Prompt[]
  /** The user must have signed in at most so many seconds ago (OpenID Connect Core §3.1.2.1, RFC 9470 §4). */
  maxAge?: number | undefined
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
  /** Whether the server binds codes to a key (RFC 9449 §10). Otherwise it knows no parameter `dpop_jkt`, and ignores it. */
  bindsToKeys?: boolean
  /** The client must push its requests (RFC 9126 §5, §6), and sent this one by the browser. */
  isPushMissing?: boolean
}

type Refusal = { error: OAuthErrorCode; description: string }

/** Validates an authorization request, in a query or pushed (RFC 6749 §4.1.1, RFC 7636 §4.4.1, RFC 8707 §2, RFC 9700 §2.1). */
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
    refuseReference(parameters) ??
    refuseDirect(context) ??
    refuseResponseType(parameters) ??
    refuseCodeChallenge(parameters, client) ??
    refusePrompt(parameters) ??
    refuseMaxAge(parameters) ??
    (context.bindsToKeys ? refuseDpopJkt(parameters) : undefined)
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
      dpopJkt: context.bindsToKeys ? parameters.get('dpop_jkt') : undefined,
      prompt: readPrompt(parameters),
      maxAge: readMaxAge(parameters)
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
  'prompt',
  'max_age',
  'request',
  'request_uri'
]

function refuseShape(parameters: FormParameters): Refusal | undefined {
  const repeated = SINGLE_PARAMETERS.find((name) => parameters.isRepeated(name))
  if (repeated) return { error: 'invalid_request', description: `The parameter ${repeated} must be sent once.` }
  const malformed = SINGLE_PARAMETERS.find((name) => parameters.isMalformed(name))
  if (malformed) return { error: 'invalid_request', description: `The parameter ${malformed} is malformed.` }
  return undefined
}

/** A signed request could contradict the other parameters, so it is refused and not ignored (OpenID Connect Core §6.1, §6.2). */
function refuseReference(parameters: FormParameters): Refusal | undefined {
  if (parameters.get('request') !== undefined)
    return { error: 'request_not_supported', description: 'The parameter request is not supported.' }
  if (parameters.get('request_uri') === undefined) return undefined
  return { error: 'request_uri_not_supported', description: 'This request_uri is not one of this server.' }
}

function refuseDirect({ isPushMissing }: AuthorizationOptions): Refusal | undefined {
  if (isPushMissing !== true) return undefined
  return { error: 'invalid_request', description: 'This client must push its authorization requests (PAR).' }
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

/** A thumbprint has the form of a code_challenge: it is a SHA-256 hash, too (RFC 7638, RFC 9449 §10). */
function refuseDpopJkt(parameters: FormParameters): Refusal | undefined {
  const jkt = parameters.get('dpop_jkt')
  if (parameters.isRepeated('dpop_jkt'))
    return { error: 'invalid_request', description: 'The parameter dpop_jkt must be sent once.' }
  const isPresent = jkt !== undefined || parameters.isMalformed('dpop_jkt')
  if (!isPresent || (jkt !== undefined && isCodeChallenge(jkt))) return undefined
  return {
    error: 'invalid_request',
    description: 'dpop_jkt is not the SHA-256 thumbprint of a key: 43 base64url characters.'
  }
}

/** `none` excludes every other value, also an unknown one. Other unknown values are ignored. */
function refusePrompt(parameters: FormParameters): Refusal | undefined {
  const values = promptValues(parameters)
  if (!values.includes('none') || values.every((value) => value === 'none')) return undefined
  return { error: 'invalid_request', description: 'The prompt none cannot be combined with another value.' }
}

function refuseMaxAge(parameters: FormParameters): Refusal | undefined {
  if (parameters.get('max_age') === undefined || readMaxAge(parameters) !== undefined) return undefined
  return { error: 'invalid_request', description: 'max_age is not a number of whole seconds.' }
}

/** The value of `max_age` in seconds; undefined if it was not sent, or is no whole number. A huge number limits nothing. */
export function readMaxAge(parameters: FormParameters): number | undefined {
  const maxAge = parameters.get('max_age')
  return maxAge !== undefined && /^[0-9]+$/.test(maxAge) ? Number(maxAge) : undefined
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
