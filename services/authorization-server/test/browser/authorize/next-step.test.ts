import { expect, test } from '@jest/globals'
import type { AuthorizationRequest, Client } from '@valetkey/oauth-protocol'
import { type Asking, type NextStep, nextStep } from '../../../src/browser/authorize/next-step.js'

const client: Client = {
  clientId: 'client_1',
  name: 'Photo Printer',
  type: 'confidential',
  redirectUris: ['https://app.example/callback'],
  requiredScopes: ['files.read', 'files.read:images'],
  optionalScopes: [],
  requiresPkce: false,
  issuesRefreshTokens: true,
  consent: 'remember'
}
const request: AuthorizationRequest = {
  clientId: client.clientId,
  redirectUri: 'https://app.example/callback',
  scope: ['files.read', 'files.read:images'],
  audience: 'https://files.example',
  state: undefined,
  codeChallenge: undefined
}
const unproved: Asking = { kind: 'unverified_session' }
const remembers = (...rememberedScope: string[]): Asking => ({ kind: 'signed_in', rememberedScope })

test.each<{ name: string; asking: Asking; change: Partial<Client>; step: NextStep['kind'] }>([
  { name: 'nobody', asking: { kind: 'nobody' }, change: {}, step: 'sign_in' },
  { name: 'nobody, client asks', asking: { kind: 'nobody' }, change: { consent: 'ask' }, step: 'sign_in' },
  { name: 'a session not looked up', asking: unproved, change: {}, step: 'issue_code' },
  { name: 'the same, client asks', asking: unproved, change: { consent: 'ask' }, step: 'look_up' },
  { name: 'the same, public client', asking: unproved, change: { type: 'public' }, step: 'look_up' },
  { name: 'all remembered', asking: remembers('files.read:images', 'files.read'), change: {}, step: 'issue_code' },
  { name: 'one scope remembered', asking: remembers('files.read'), change: {}, step: 'ask_consent' },
  { name: 'nothing remembered', asking: remembers(), change: {}, step: 'ask_consent' },
  {
    name: 'remembered, client asks',
    asking: remembers(...request.scope),
    change: { consent: 'ask' },
    step: 'ask_consent'
  },
  { name: 'remembered, public', asking: remembers(...request.scope), change: { type: 'public' }, step: 'ask_consent' }
])('next step: $name: $step', ({ asking, change, step }) => {
  expect(nextStep({ asking, client: { ...client, ...change }, request })).toEqual({ kind: step })
})
