import { expect, test } from '@jest/globals'
import { dpopChallenge } from '../src/dpop-challenge.js'

const ALGS = 'algs="ES256 PS256 EdDSA Ed25519"'

test.each([
  { name: 'no credentials: no error code', challenge: { realm: 'files' }, header: `DPoP ${ALGS}, realm="files"` },
  {
    name: 'an error, with all parameters',
    challenge: {
      realm: 'files',
      scope: 'a b',
      resourceMetadata: 'https://files.example/.well-known/x',
      error: { code: 'invalid_dpop_proof', description: 'No "proof".' }
    },
    header:
      `DPoP ${ALGS}, realm="files", scope="a b", resource_metadata="https://files.example/.well-known/x", ` +
      `error="invalid_dpop_proof", error_description="No 'proof'."`
  }
] as const)('A DPoP challenge has the algorithms and $name (RFC 9449 §7.1)', ({ challenge, header }) => {
  expect(dpopChallenge(challenge)).toBe(header)
})
