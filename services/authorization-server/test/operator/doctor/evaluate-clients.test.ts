import { expect, test } from '@jest/globals'
import { redirectUriProblem } from '@valetkey/oauth-protocol'
import { evaluateClients } from '../../../src/operator/doctor/evaluate-clients.js'
import type { ClientState } from '../../../src/storage/postgres/registry-state.js'

const now = new Date('2026-11-21T12:00:00Z')

const severityFor = (redirectUri: string) => {
  const client: ClientState = {
    clientId: 'app',
    type: 'confidential',
    redirectUris: [redirectUri],
    requiresPkce: true,
    issuesRefreshTokens: true,
    consent: 'ask',
    hasKey: false,
    endlessSecrets: 1,
    oldestSecretAt: now
  }
  const findings = evaluateClients([client], { isProduction: false, now })
  return findings.find(({ check }) => check === 'http redirect URIs')?.severity
}

test.each([
  'https://app.example/cb',
  'com.example.app:/cb',
  'http://127.0.0.1/cb',
  'http://127.0.0.1:8080/cb',
  'http://localhost/cb',
  'http://[::1]/cb',
  'http://127.0.0.2/cb',
  'http://app.localhost/cb',
  'http://app.example/cb'
])(
  'doctor complains about the redirect URI %s if and only if registration refuses it (RFC 8252 §7.3)',
  (redirectUri) => {
    expect(severityFor(redirectUri) === 'ok').toBe(redirectUriProblem(redirectUri) === undefined)
  }
)
