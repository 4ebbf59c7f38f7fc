import { expect, test } from '@jest/globals'
import { redirectTarget } from '@valetkey/oauth-protocol'
import { formActionSources } from '../../../src/browser/pending-requests/form-action.js'

test.each([
  { redirectUri: 'http://127.0.0.1:8080/cb', sources: ['http://127.0.0.1:*', 'http://localhost:*', 'https:'] },
  { redirectUri: 'http://localhost/cb', sources: ['http://127.0.0.1:*', 'http://localhost:*', 'https:'] },
  { redirectUri: 'http://[::1]:8080/cb', sources: ['http:', 'https:'] },
  { redirectUri: 'https://app.example/cb', sources: ['https://app.example', 'https:'] },
  { redirectUri: 'https://[2001:db8::1]/cb', sources: ['https:'] },
  { redirectUri: 'com.example.app:/cb', sources: ['com.example.app:'] }
])('form-action for $redirectUri is $sources (RFC 8252 §7.3)', ({ redirectUri, sources }) => {
  expect(formActionSources(redirectTarget(redirectUri))).toEqual(sources)
})
