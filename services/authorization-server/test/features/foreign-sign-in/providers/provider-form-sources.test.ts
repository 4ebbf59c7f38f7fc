import { expect, test } from '@jest/globals'
import { providerFormSources } from '../../../../src/features/foreign-sign-in/providers/provider-form-sources.js'

test.each([
  { issuer: 'http://127.0.0.1:8080', sources: ['http://127.0.0.1:*', 'http://localhost:*', 'https:'] },
  { issuer: 'http://localhost/realm', sources: ['http://127.0.0.1:*', 'http://localhost:*', 'https:'] },
  { issuer: 'http://[::1]:8080', sources: ['http:', 'https:'] },
  { issuer: 'https://login.example/realm', sources: ['https://login.example', 'https:'] },
  { issuer: 'https://[2001:db8::1]', sources: ['https:'] }
])('form-action for the sign-out at the provider $issuer', ({ issuer, sources }) => {
  expect(providerFormSources(issuer)).toEqual(sources)
})
