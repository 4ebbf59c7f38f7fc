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
  /** `dpop_jkt` of the authorization request (RFC 9449 §10): the thumbprint of a key. Undefined: any key, or none. */
  dpopJkt?: string | undefined
}

/**
 * The same fields of a token request. Without `resource`, every audience matches (RFC 8707 §2.2). `dpopJkt`: the thumbprint of
 * the key whose possession the request proves.
 */
export type PresentedBinding = Omit<CodeBinding, 'audience'> & { resource: string | undefined }

export type BindingMismatch = 'client' | 'redirect_uri' | 'code_challenge' | 'resource' | 'dpop_jkt'

/** The first field in which a token request differs from the binding of its code; undefined when all fields match. */
export function bindingMismatch(bound: CodeBinding, presented: PresentedBinding): BindingMismatch | undefined {
  if (presented.clientId !== bound.clientId) return 'client'
  if (presented.redirectUri !== bound.redirectUri) return 'redirect_uri'
  if (!matchesCodeChallenge(bound.codeChallenge, presented.codeChallenge)) return 'code_challenge'
  if (presented.resource !== undefined && !isSameResource(presented.resource, bound.audience)) return 'resource'
  if (bound.dpopJkt !== undefined && presented.dpopJkt !== bound.dpopJkt) return 'dpop_jkt'
  return undefined
}

/** A binding for a store that compares inside one command and cannot call `bindingMismatch`. */
export type ComparableBinding = {
  /** Of client, redirect URI, challenge, and `dpop_jkt` if there is one: 43 base64url characters. */
  hash: string
  /** In its normal form; empty if a token request names none. */
  resource: string
}

/** The binding of a code, to be stored with it. */
export function comparableBinding(binding: CodeBinding): ComparableBinding {
  return { hash: hashOf(binding, binding.dpopJkt), resource: normalResource(binding.audience) }
}

/**
 * A token request matches a code if and only if the hash of the code is one of these two, and the resources are equal or the token
 * request names none. `keyHash` is empty without a key: it equals no hash.
 */
export function comparablePresented(presented: PresentedBinding): ComparableBinding & { keyHash: string } {
  const { resource, dpopJkt } = presented
  return {
    hash: hashOf(presented, undefined),
    keyHash: dpopJkt === undefined ? '' : hashOf(presented, dpopJkt),
    resource: resource === undefined ? '' : normalResource(resource)
  }
}

function hashOf(
  { clientId, redirectUri, codeChallenge }: Pick<CodeBinding, 'clientId' | 'redirectUri' | 'codeChallenge'>,
  dpopJkt: string | undefined
): string {
  // JSON separates the parts unambiguously. An absent challenge is null, which differs from every string.
  const parts = [clientId, redirectUri, codeChallenge ?? null]
  if (dpopJkt !== undefined) parts.push(dpopJkt)
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
