import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  type BindingMismatch,
  bindingMismatch,
  type CodeBinding,
  comparableBinding,
  comparablePresented,
  type PresentedBinding
} from '../src/code-binding.js'

const bound: CodeBinding = {
  clientId: 'app',
  redirectUri: 'https://app.example/callback',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  audience: 'https://files.example'
}
const presented: PresentedBinding = {
  clientId: bound.clientId,
  redirectUri: bound.redirectUri,
  codeChallenge: bound.codeChallenge,
  resource: undefined
}
/** A thumbprint: `dpop_jkt`. */
const KEY = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'

/** The comparison of the script that takes a code. */
function fits(one: CodeBinding, other: PresentedBinding): boolean {
  const [code, request] = [comparableBinding(one), comparablePresented(other)]
  const isBound = code.hash === request.hash || code.hash === request.keyHash
  return isBound && (request.resource === '' || request.resource === code.resource)
}

describe('code binding: the comparison returns the differing value (RFC 6749 §4.1.3)', () => {
  test.each<{ name: string; change: Partial<PresentedBinding>; mismatch: BindingMismatch | undefined }>([
    { name: 'the same without a resource', change: {}, mismatch: undefined },
    { name: 'the same with the resource', change: { resource: bound.audience }, mismatch: undefined },
    { name: 'the resource as a parser writes it', change: { resource: `${bound.audience}:443/` }, mismatch: undefined },
    { name: 'another client', change: { clientId: 'other' }, mismatch: 'client' },
    { name: 'another client and redirect URI', change: { clientId: 'o', redirectUri: 'x' }, mismatch: 'client' },
    { name: 'another redirect URI', change: { redirectUri: `${bound.redirectUri}/` }, mismatch: 'redirect_uri' },
    { name: 'another verifier', change: { codeChallenge: 'x' }, mismatch: 'code_challenge' },
    { name: 'no verifier', change: { codeChallenge: undefined }, mismatch: 'code_challenge' },
    { name: 'another resource', change: { resource: 'https://reports.example' }, mismatch: 'resource' },
    { name: 'a key for a code without one (RFC 9449 §10)', change: { dpopJkt: KEY }, mismatch: undefined }
  ])('$name', ({ change, mismatch }) => {
    expect(bindingMismatch(bound, { ...presented, ...change })).toBe(mismatch)
    expect(fits(bound, { ...presented, ...change })).toBe(mismatch === undefined)
  })

  test.each<{ name: string; dpopJkt: string | undefined; mismatch: BindingMismatch | undefined }>([
    { name: 'the key of the code', dpopJkt: KEY, mismatch: undefined },
    { name: 'another key', dpopJkt: KEY.toLowerCase(), mismatch: 'dpop_jkt' },
    { name: 'no key', dpopJkt: undefined, mismatch: 'dpop_jkt' }
  ])('$name for a code with dpop_jkt (RFC 9449 §10)', ({ dpopJkt, mismatch }) => {
    const withKey = { ...bound, dpopJkt: KEY }
    expect(bindingMismatch(withKey, { ...presented, dpopJkt })).toBe(mismatch)
    expect(fits(withKey, { ...presented, dpopJkt })).toBe(mismatch === undefined)
  })

  test('a verifier for a code without a challenge is a mismatch (RFC 9700 4.8.2)', () => {
    const plain = { ...bound, codeChallenge: undefined }
    expect(bindingMismatch(plain, presented)).toBe('code_challenge')
    expect(bindingMismatch(plain, { ...presented, codeChallenge: undefined })).toBeUndefined()
  })
})

test('code binding: the comparable forms match exactly if the comparison finds no mismatch', () => {
  const text = fc.oneof(fc.constantFrom('', 'a', 'b', 'null', '"', ','), fc.string({ unit: 'binary' }))
  const optional = fc.option(text, { nil: undefined })
  // The parser of forms returns no empty parameter.
  const resource = optional.map((value) => value || undefined)
  fc.assert(
    fc.property(
      fc.record({ clientId: text, redirectUri: text, codeChallenge: optional, audience: text, dpopJkt: optional }),
      fc.record({ clientId: text, redirectUri: text, codeChallenge: optional, resource, dpopJkt: optional }),
      (one, other) => {
        expect(fits(one, other)).toBe(bindingMismatch(one, other) === undefined)
      }
    ),
    { numRuns: 2_000 }
  )
})
