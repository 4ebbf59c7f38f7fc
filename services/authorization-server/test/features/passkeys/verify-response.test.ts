import { expect, test } from '@jest/globals'
import { hasCertificates, isPasskeyId, readResponse } from '../../../src/features/passkeys/verify-response.js'
import {
  attestationOf,
  createSoftwareAuthenticator,
  EMPTY,
  WITH_CERTIFICATE
} from './support/software-authenticator.js'

const OPTIONS = { challenge: 'AAAA', rp: { id: 'localhost' } }

test.each([
  { format: 'none', statement: EMPTY, has: false },
  { format: 'packed', statement: EMPTY, has: false },
  { format: 'packed', statement: WITH_CERTIFICATE, has: true },
  { format: 'apple', statement: EMPTY, has: true },
  { format: 'android-safetynet', statement: EMPTY, has: true }
])(
  'an attestation $format that may have certificates: $has (WebAuthn Level 3 §5.1.3)',
  async ({ format, statement, has }) => {
    const attestation = attestationOf(format, statement)
    const response = JSON.parse(createSoftwareAuthenticator().create(OPTIONS, { attestation }))
    expect(await hasCertificates(response)).toBe(has)
  }
)

test.each([
  { id: 'AAAA', is: true },
  { id: 'a'.repeat(1364), is: true },
  { id: 'a'.repeat(1365), is: false },
  { id: '', is: false },
  { id: 'a\u0000', is: false },
  { id: 'a b', is: false },
  { id: 1, is: false },
  { id: undefined, is: false }
])('a passkey id has 1 to 1,023 bytes in base64url (WebAuthn Level 3 §4): $id', ({ id, is }) => {
  expect(isPasskeyId(id)).toBe(is)
  expect(readResponse(JSON.stringify({ id, response: {} })) !== undefined).toBe(is)
})
