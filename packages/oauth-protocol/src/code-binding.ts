import { hash } from 'node:crypto'
import { matchesCodeChallenge } from './pkce.js'
import { isSameResource, normalResource } from './resource.js'

/** What an authorization code is bound to when it is issued (RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2). */
export type CodeBinding = {
  clientId: string
  redirectUri: string
  /** The S256 challenge; undefined when the authorization request had none. */
  codeChallenge: string | undefined
  audience: string
}

/** The same fields of a token request. Without `resource`, every audience matches (RFC 8707 §2.2). */
export type PresentedBinding = Omit<CodeBinding, 'audience'> & { resource: string | undefined }

export type BindingMismatch = 'client' | 'redirect_uri' | 'code_challenge' | 'resource'

/** The first field in which a token request differs from the binding of its code; undefined when all fields match. */
export function bindingMismatch(bound: CodeBinding, presented: PresentedBinding): BindingMismatch | undefined {
  if (presented.clientId !== bound.clientId) return 'client'
  if (presented.redirectUri !== bound.redirectUri) return 'redirect_uri'
  if (!matchesCodeChallenge(bound.codeChallenge, presented.codeChallenge)) return 'code_challenge'
  if (presented.resource !== undefined && !isSameResource(presented.resource, bound.audience)) return 'resource'
  return undefined
}

/** A binding for a store that compares inside one command and cannot call `bindingMismatch`. */
export type ComparableBinding = {
  /** Of client, redirect URI and challenge: 43 base64url characters. */
  hash: string
  /** In its normal form; empty if a token request names none. */
  resource: string
}

/**
 * A token request matches a code if and only if the hashes are equal, and the resources are equal or the token request names
 * none.
 */
export function comparableBinding(binding: CodeBinding | PresentedBinding): ComparableBinding {
  const { clientId, redirectUri, codeChallenge } = binding
  const resource = 'audience' in binding ? binding.audience : binding.resource
  // JSON separates the parts unambiguously. An absent part is null, which differs from every string.
  const parts = JSON.stringify([clientId, redirectUri, codeChallenge ?? null])
  return { hash: hash('sha256', parts, 'base64url'), resource: resource === undefined ? '' : normalResource(resource) }
}
