import { hash } from 'node:crypto'

/** What an authorization code is bound to when it is issued (RFC 6749 4.1.3, RFC 7636 4.6, RFC 8707 2.2). */
export type CodeBinding = {
  clientId: string
  redirectUri: string
  /** The S256 challenge; undefined when the authorization request had none. */
  codeChallenge: string | undefined
  audience: string
}

/** What a token request presents. Without `resource`, every audience fits (RFC 8707 2.2). */
export type PresentedBinding = Omit<CodeBinding, 'audience'> & { resource: string | undefined }

export type BindingMismatch = 'client' | 'redirect_uri' | 'code_challenge' | 'resource'

/** The first part in which a token request differs from what its code is bound to; undefined when everything fits. */
export function bindingMismatch(bound: CodeBinding, presented: PresentedBinding): BindingMismatch | undefined {
  if (presented.clientId !== bound.clientId) return 'client'
  if (presented.redirectUri !== bound.redirectUri) return 'redirect_uri'
  if (presented.codeChallenge !== bound.codeChallenge) return 'code_challenge'
  if (presented.resource !== undefined && presented.resource !== bound.audience) return 'resource'
  return undefined
}

/**
 * Digests of a binding, for a store that compares in one step and cannot call `bindingMismatch`. A token request fits
 * exactly if its `presentedDigest` is one of the two.
 */
export function bindingDigests(bound: CodeBinding): { withoutResource: string; withResource: string } {
  return {
    withoutResource: presentedDigest({ ...bound, resource: undefined }),
    withResource: presentedDigest({ ...bound, resource: bound.audience })
  }
}

/** 43 base64url characters. */
export function presentedDigest({ clientId, redirectUri, codeChallenge, resource }: PresentedBinding): string {
  // JSON keeps the parts apart whatever characters they hold; an absent part is null and differs from every text.
  const parts = [clientId, redirectUri, codeChallenge ?? null, resource ?? null]
  return hash('sha256', JSON.stringify(parts), 'base64url')
}
