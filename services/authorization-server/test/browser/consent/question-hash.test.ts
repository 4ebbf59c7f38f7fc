import { expect, test } from '@jest/globals'
import type { AuthorizationRequest } from '@valetkey/oauth-protocol'
import { questionHash } from '../../../src/browser/consent/question-hash.js'
import type { Chosen } from '../../../src/platform/selections.js'
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

const DETAIL = { type: 'files', identifier: 'sel_1', summary: '12 photos' }

type Change = {
  client?: Partial<NewClient>
  request?: Partial<AuthorizationRequest>
  newestScope?: number
  endValues?: readonly string[]
  chosen?: Chosen
}

function hashOf({ client, request, newestScope = 7, endValues = [], chosen }: Change = {}) {
  const asked = { client: { ...CLIENT, ...client }, request: { ...REQUEST, ...request }, newestScope }
  return questionHash({ ...asked, endValues, chosen })
}

test('another API, scope, name, publisher, need of a key, list of redirect URIs, choices of an end or choice at the API, or a scope that is now required or was created again, has another hash', () => {
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
    { endValues: ['1h 3600', '1d 86400'] },
    { chosen: { detail: DETAIL, draft: undefined } },
    { chosen: { detail: { ...DETAIL, identifier: 'sel_2' }, draft: undefined } },
    { chosen: { detail: { ...DETAIL, summary: '13 photos' }, draft: undefined } }
  ]
  expect(new Set(changes.map(hashOf)).size).toBe(changes.length)
})
