import { expect, test } from '@jest/globals'
import { relyingParty } from '../src/relying-party.js'

test.each([
  { issuer: 'https://auth.example', party: { id: 'auth.example', origin: 'https://auth.example' } },
  { issuer: 'https://auth.example:8443/sign-in', party: { id: 'auth.example', origin: 'https://auth.example:8443' } },
  { issuer: 'http://localhost:4000', party: { id: 'localhost', origin: 'http://localhost:4000' } },
  { issuer: 'https://2.example', party: { id: '2.example', origin: 'https://2.example' } }
])('the relying party is the host, with the exact origin: $issuer (WebAuthn Level 3 §4)', ({ issuer, party }) => {
  expect(relyingParty(issuer)).toEqual(party)
})

test.each(['http://127.0.0.1:4000', 'https://192.0.2.7', 'http://[::1]:4000', 'https://2130706433'])(
  'an IP address has no passkeys: %s (WebAuthn Level 3 §5.1.3)',
  (issuer) => {
    expect(relyingParty(issuer)).toBeUndefined()
  }
)
