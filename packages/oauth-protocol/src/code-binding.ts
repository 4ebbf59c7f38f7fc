import { hash } from 'node:crypto'
import { matchesCodeChallenge } from './pkce.js'

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
  if (presented.resource !== undefined && presented.resource !== bound.audience) return 'resource'
  return undefined
}

/**
 * Hashes of a binding, for a store that compares inside one command and cannot call `bindingMismatch`. A token request matches
 * if and only if its `presentedHash` is one of the two.
 */
export function bindingHashes(bound: CodeBinding): { withoutResource: string; withResource: string } {
  return {
    withoutResource: presentedHash({ ...bound, resource: undefined }),
    withResource: presentedHash({ ...bound, resource: bound.audience })
  }
}

/** 43 base64url characters. */
export function presentedHash({ clientId, redirectUri, codeChallenge, resource }: PresentedBinding): string {
  // JSON separates the parts unambiguously. An absent part is null, which differs from every string.
  const parts = [clientId, redirectUri, codeChallenge ?? null, resource ?? null]
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
