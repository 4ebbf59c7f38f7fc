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
  dpopJkt: undefined,
  prompt: []
}

type Change = {
  client?: Partial<NewClient>
  request?: Partial<AuthorizationRequest>
  newestScope?: number
  endValues?: readonly string[]
}

function hashOf({ client, request, newestScope = 7, endValues = [] }: Change = {}) {
  return questionHash({ client: { ...CLIENT, ...client }, request: { ...REQUEST, ...request }, newestScope, endValues })
}

test('another API, scope, name, publisher, need of a key, list of redirect URIs or choices of an end, or a scope that is now required or was created again, has another hash', () => {
  const changes: Change[] = [
    {},
    { request: { audience: 'https://photos.example' } },
    { request: { scope: ['notes.read'] } },
    { client: { requiredScopes: ['notes.write'] } },
    { client: { name: 'Paper Bo' } },
    { client: { redirectUris: ['https://evil.example/'] } },
    { client: { branding: { publisher: 'Paper Ltd' } } },
    { client: { privateKeyJwt: 'required' } },
    { newestScope: 8 },
    { endValues: ['1h 3600'] },
    { endValues: ['1h 3600', '1d 86400'] }
  ]
  expect(new Set(changes.map(hashOf)).size).toBe(changes.length)
})
