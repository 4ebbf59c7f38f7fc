import { expect, test } from '@jest/globals'
import type { AuthorizationRequest } from '@valetkey/oauth-protocol'
import { questionHash } from '../../../src/browser/consent/question-hash.js'
import type { NewClient } from '../../../src/storage/postgres/clients.js'

const CLIENT: NewClient = {
  clientId: 'https://app.example:8443/oauth/client.json',
  name: 'Paper Boat',
  type: 'public',
  redirectUris: ['https://boat.example/callback'],
  requiredScopes: [],
  optionalScopes: ['notes.read', 'notes.write'],
  requiresPkce: true,
  issuesRefreshTokens: true,
  consent: 'ask',
  isDiscovered: true,
  disabled: false,
  verified: false,
  branding: {}
}
const REQUEST: AuthorizationRequest = {
  clientId: CLIENT.clientId,
  redirectUri: 'https://boat.example/callback',
  scope: ['notes.read', 'notes.write'],
  audience: 'https://notes.example',
  state: 'one',
  codeChallenge: undefined,
  prompt: []
}

type Change = { client?: Partial<NewClient>; request?: Partial<AuthorizationRequest>; newestScope?: number }

function hashOf({ client, request, newestScope = 7 }: Change = {}) {
  return questionHash({ client: { ...CLIENT, ...client }, request: { ...REQUEST, ...request }, newestScope })
}

test('another API, scope, name, publisher or list of redirect URIs, or a scope that is now required or was created again, has another hash', () => {
  const changes = [
    {},
    { request: { audience: 'https://photos.example' } },
    { request: { scope: ['notes.read'] } },
    { client: { requiredScopes: ['notes.write'] } },
    { client: { name: 'Paper Bo' } },
    { client: { redirectUris: ['https://evil.example/'] } },
    { client: { branding: { publisher: 'Paper Ltd' } } },
    { newestScope: 8 }
  ]
  expect(new Set(changes.map(hashOf)).size).toBe(changes.length)
})
