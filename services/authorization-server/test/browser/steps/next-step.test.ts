import { expect, test } from '@jest/globals'
import type { AuthorizationRequest, Client, Prompt } from '@valetkey/oauth-protocol'
import { type NextStep, nextStep, type SessionState } from '../../../src/browser/steps/next-step.js'

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
  codeChallenge: undefined,
  dpopJkt: undefined,
  prompt: []
}
const NONE: SessionState = { kind: 'none' }
const PENDING: SessionState = { kind: 'decision_pending' }
const declined = (...declinedScope: string[]): SessionState => ({
  kind: 'signed_in',
  isForThisRequest: false,
  authenticationAge: undefined,
  rememberedScope: ['files.read'],
  declinedScope
})
const signedIn = (...rememberedScope: string[]): SessionState => ({
  kind: 'signed_in',
  isForThisRequest: false,
  authenticationAge: undefined,
  rememberedScope,
  declinedScope: []
})
const ASKS = { consent: 'ask' } as const
const OPTIONAL = { requiredScopes: ['files.read'], optionalScopes: ['files.read:images'] }
const PUBLIC = { type: 'public' } as const

test.each<{ name: string; session: SessionState; change?: Partial<Client>; step: NextStep }>([
  { name: 'no session', session: NONE, step: 'sign_in' },
  { name: 'no session, client that asks each time', session: NONE, change: ASKS, step: 'sign_in' },
  { name: 'all scopes remembered', session: signedIn('files.read:images', 'files.read'), step: 'issue_code' },
  { name: 'one of two scopes remembered', session: signedIn('files.read'), step: 'start_consent' },
  {
    name: 'one remembered, the other declined',
    session: declined('files.read:images'),
    change: OPTIONAL,
    step: 'issue_code'
  },
  {
    name: 'one remembered, the other declined and now required',
    session: declined('files.read:images'),
    step: 'start_consent'
  },
  { name: 'nothing remembered', session: signedIn(), step: 'start_consent' },
  {
    name: 'all remembered, client that asks each time',
    session: signedIn(...request.scope),
    change: ASKS,
    step: 'start_consent'
  },
  { name: 'all remembered, public client', session: signedIn(...request.scope), change: PUBLIC, step: 'start_consent' },
  { name: 'a pending decision', session: PENDING, step: 'ask_consent' },
  { name: 'a pending decision, client that asks each time', session: PENDING, change: ASKS, step: 'ask_consent' }
])('next step: $name: $step', ({ session, change, step }) => {
  expect(nextStep({ session, authorization: { client: { ...client, ...change }, request } })).toBe(step)
})

const REMEMBERED = signedIn(...request.scope)
const FOR_THIS_REQUEST: SessionState = {
  kind: 'signed_in',
  isForThisRequest: true,
  authenticationAge: undefined,
  rememberedScope: request.scope,
  declinedScope: []
}

test.each<{ prompt: Prompt[]; session: SessionState; step: NextStep }>([
  ...(['login', 'select_account'] as const).flatMap(
    (prompt): { prompt: Prompt[]; session: SessionState; step: NextStep }[] => [
      { prompt: [prompt], session: NONE, step: 'sign_in' },
      { prompt: [prompt], session: signedIn(), step: 'sign_in' },
      { prompt: [prompt], session: REMEMBERED, step: 'sign_in' },
      { prompt: [prompt], session: FOR_THIS_REQUEST, step: 'issue_code' },
      { prompt: [prompt], session: PENDING, step: 'ask_consent' },
      { prompt: [prompt, 'consent'], session: REMEMBERED, step: 'sign_in' },
      { prompt: [prompt, 'consent'], session: FOR_THIS_REQUEST, step: 'start_consent' }
    ]
  ),
  { prompt: ['consent'], session: NONE, step: 'sign_in' },
  { prompt: ['consent'], session: signedIn(), step: 'start_consent' },
  { prompt: ['consent'], session: REMEMBERED, step: 'start_consent' },
  { prompt: ['consent'], session: PENDING, step: 'ask_consent' },
  { prompt: ['none'], session: NONE, step: 'login_required' },
  { prompt: ['none'], session: signedIn(), step: 'consent_required' },
  { prompt: ['none'], session: REMEMBERED, step: 'issue_code' },
  { prompt: ['none'], session: PENDING, step: 'consent_required' }
])('next step: prompt $prompt, session $session: $step (OpenID Connect Core §3.1.2.1)', ({ prompt, session, step }) => {
  expect(nextStep({ session, authorization: { client, request: { ...request, prompt } } })).toBe(step)
})

const aged = (authenticationAge: number | undefined): SessionState => ({
  ...FOR_THIS_REQUEST,
  isForThisRequest: false,
  authenticationAge
})

test.each<{ maxAge: number | undefined; prompt?: Prompt[]; session: SessionState; step: NextStep }>([
  { maxAge: undefined, session: aged(1_000_000), step: 'issue_code' },
  { maxAge: 300, session: aged(0), step: 'issue_code' },
  { maxAge: 300, session: aged(300), step: 'issue_code' },
  { maxAge: 300, session: aged(300.001), step: 'sign_in' },
  { maxAge: 300, session: aged(-5), step: 'issue_code' },
  { maxAge: 300, session: aged(undefined), step: 'sign_in' },
  { maxAge: Number.POSITIVE_INFINITY, session: aged(1_000_000), step: 'issue_code' },
  { maxAge: Number.POSITIVE_INFINITY, session: aged(undefined), step: 'sign_in' },
  { maxAge: 0, session: aged(0.001), step: 'sign_in' },
  { maxAge: 0, session: FOR_THIS_REQUEST, step: 'issue_code' },
  { maxAge: 300, session: NONE, step: 'sign_in' },
  { maxAge: 300, session: PENDING, step: 'ask_consent' },
  { maxAge: 300, prompt: ['none'], session: NONE, step: 'login_required' },
  { maxAge: 300, prompt: ['none'], session: aged(300), step: 'issue_code' },
  { maxAge: 300, prompt: ['none'], session: aged(301), step: 'login_required' },
  { maxAge: 300, prompt: ['none'], session: aged(undefined), step: 'login_required' },
  { maxAge: 300, prompt: ['login'], session: aged(0), step: 'sign_in' },
  { maxAge: 300, prompt: ['consent'], session: aged(301), step: 'sign_in' },
  { maxAge: 300, prompt: ['consent'], session: aged(299), step: 'start_consent' }
])(
  'next step: max_age $maxAge, prompt $prompt, session $session: $step (OpenID Connect Core §3.1.2.1)',
  ({ maxAge, prompt = [], session, step }) => {
    expect(nextStep({ session, authorization: { client, request: { ...request, prompt, maxAge } } })).toBe(step)
  }
)

test.each<{ session: SessionState; step: NextStep }>([
  { session: NONE, step: 'sign_in' },
  { session: signedIn(), step: 'show_account' }
])('next step without an authorization request: session $session.kind: $step', ({ session, step }) => {
  expect(nextStep({ session, authorization: undefined })).toBe(step)
})

test.each<{ prompt: readonly Prompt[]; step: NextStep }>([
  { prompt: [], step: 'sign_in' },
  { prompt: ['login'], step: 'sign_in' },
  { prompt: ['none'], step: 'login_required' }
])('a client whose document was not read, prompt=$prompt: $step', ({ prompt, step }) => {
  const authorization = { client: undefined, request: { prompt } }
  for (const session of [NONE, signedIn()]) expect(nextStep({ session, authorization })).toBe(step)
})
