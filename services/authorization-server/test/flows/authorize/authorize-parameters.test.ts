import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, ISSUER, REDIRECT_URI } from '../../support/authorization-server.js'
import {
  type AuthorizeCase,
  type AuthorizeCases,
  CHALLENGE,
  OTHER_AUDIENCE,
  openAuthorizeCases,
  S256
} from '../../support/authorize-cases.js'

type Refusal = AuthorizeCase & { error: string; description: string; state?: string | null }

let cases: AuthorizeCases

beforeAll(async () => {
  cases = await openAuthorizeCases()
})
afterAll(() => cases.close())

const challenge = (code_challenge: string) => ({ ...S256, code_challenge })
const method = (code_challenge_method: string | undefined) => ({ ...S256, code_challenge_method })

const once = (name: string) => ({ error: 'invalid_request', description: `The parameter ${name} must be sent once.` })
const malformed = (name: string) => ({ error: 'invalid_request', description: `The parameter ${name} is malformed.` })
const noCode = { error: 'unsupported_response_type', description: 'The only response_type is code.' }
const badScope = { error: 'invalid_scope', description: 'The scope is unknown or not allowed for this client.' }
const noScope = {
  error: 'invalid_scope',
  description: `The parameter scope is missing, and the API ${AUDIENCE} has no default scope.`
}
const twoApis = {
  error: 'invalid_scope',
  description: `The scope photos.read belongs to the API ${OTHER_AUDIENCE}, and the request is for the API ${AUDIENCE}. Send one request for each API.`
}
const needsPkce = { error: 'invalid_request', description: 'This client must send a code_challenge (PKCE).' }
const badMethod = { error: 'invalid_request', description: 'The only code_challenge_method is S256.' }
const badChallenge = { error: 'invalid_request', description: 'code_challenge is not 43 base64url characters.' }
const loneMethod = { error: 'invalid_request', description: 'code_challenge_method was sent without code_challenge.' }
const noTarget = { error: 'invalid_target', description: 'The resource is not known here.' }
const badPrompt = {
  error: 'invalid_request',
  description: 'The prompt none cannot be combined with another value.'
}
const needsLogin = { error: 'login_required', description: 'The user must sign in.' }
const noType = { error: 'invalid_request', description: 'The parameter response_type is missing.' }

const REFUSALS: readonly Refusal[] = [
  { name: 'response_type missing', change: { response_type: undefined }, ...noType },
  { name: 'response_type empty', change: { response_type: '' }, ...noType },
  {
    name: 'response_type only in brackets',
    change: { response_type: undefined },
    appended: '&response_type[]=code',
    ...noType
  },
  ...['token', 'id_token', 'code token', 'code id_token', 'none', 'CODE', 'code ', 'code+'].map((response_type) => ({
    name: `response_type "${response_type}"`,
    change: { response_type },
    ...noCode
  })),
  { name: 'response_type twice', appended: '&response_type=code', ...once('response_type') },
  {
    name: 'response_type broken',
    change: { response_type: undefined },
    appended: '&response_type=%c',
    ...malformed('response_type')
  },

  { name: 'scope missing', change: { scope: undefined }, ...noScope },
  { name: 'scopes of two APIs', change: { scope: 'files.read photos.read' }, ...twoApis },
  { name: 'scope of another API than resource', change: { scope: 'photos.read', resource: AUDIENCE }, ...twoApis },
  { name: 'scope empty', change: { scope: '' }, ...noScope },
  { name: 'scope only in brackets', change: { scope: undefined }, appended: '&scope[]=files.read', ...noScope },
  { name: 'scope only with an index', change: { scope: undefined }, appended: '&scope%5B0%5D=files.read', ...noScope },
  {
    name: 'scope only behind a semicolon',
    change: { scope: undefined },
    appended: ';scope=files.read',
    ...noScope,
    state: 'a state;scope=files.read'
  },
  ...[
    'files.write',
    'files.read files.write',
    'files.read:media',
    'FILES.READ',
    'files.read:',
    'files.*',
    '*',
    ' files.read',
    'files.read ',
    'files.read  files.read:images',
    'files.read,files.read:images',
    'files.read;files.read:images',
    'files.read\u00a0files.read:images',
    '"files.read"',
    'files.read\\',
    'openid',
    'offline_access',
    'f'.repeat(6000)
  ].map((scope) => ({ name: `scope "${scope.slice(0, 40)}"`, change: { scope }, ...badScope })),
  { name: 'scope with a line break', change: { scope: 'files.read\nfiles.read:images' }, ...malformed('scope') },
  { name: 'scope with a NUL', change: { scope: 'files.read\u0000' }, ...malformed('scope') },
  { name: 'scope not UTF-8', change: { scope: undefined }, appended: '&scope=files.read%C0%AF', ...malformed('scope') },
  { name: 'scope twice', appended: '&scope=files.read', ...once('scope') },
  { name: 'scope twice, once by an encoded name', appended: '&%73cope=files.read%3Aimages', ...once('scope') },

  { name: 'prompt twice', appended: '&prompt=login&prompt=login', ...once('prompt') },
  { name: 'prompt none with login', change: { prompt: 'none login' }, ...badPrompt },
  { name: 'prompt none with an unknown value', change: { prompt: 'create none' }, ...badPrompt },
  { name: 'prompt none without a session', change: { prompt: 'none' }, ...needsLogin },

  { name: 'no challenge, public client', client: 'public', ...needsPkce },
  { name: 'no challenge, client that requires PKCE', client: 'pkce', ...needsPkce },
  { name: 'an empty challenge, public client', client: 'public', change: { code_challenge: '' }, ...needsPkce },
  { name: 'an empty challenge with a method', client: 'public', change: challenge(''), ...loneMethod },
  { name: 'a method without challenge', change: { code_challenge_method: 'S256' }, ...loneMethod },
  { name: 'method plain', change: method('plain'), ...badMethod },
  { name: 'method plain, public client', client: 'public', change: method('plain'), ...badMethod },
  {
    name: 'method plain with a long enough verifier',
    change: { code_challenge: 'v'.repeat(64), code_challenge_method: 'plain' },
    ...badMethod
  },
  { name: 'no method, which would mean plain', change: method(undefined), ...badMethod },
  { name: 'an empty method', change: method(''), ...badMethod },
  ...['s256', 'S512', 'S256 ', 'none'].map((name) => ({
    name: `method "${name}"`,
    change: method(name),
    ...badMethod
  })),
  ...[
    CHALLENGE.slice(1),
    `${CHALLENGE}A`,
    `${CHALLENGE}=`,
    CHALLENGE.replace('-', '+'),
    CHALLENGE.replace('-', '/'),
    CHALLENGE.replace('-', '~'),
    CHALLENGE.replace('-', ' '),
    CHALLENGE.replace('-', 'é'),
    'a'.repeat(6000)
  ].map((value) => ({ name: `challenge "${value.slice(0, 45)}"`, change: challenge(value), ...badChallenge })),
  { name: 'challenge with a line break', change: challenge(`${CHALLENGE}\n`), ...malformed('code_challenge') },
  { name: 'challenge twice', change: S256, appended: `&code_challenge=${CHALLENGE}`, ...once('code_challenge') },
  { name: 'method twice', change: S256, appended: '&code_challenge_method=S256', ...once('code_challenge_method') },

  { name: 'resource unknown', change: { resource: 'https://evil.example/' }, ...noTarget },
  { name: 'resource with an additional slash', change: { resource: `${OTHER_AUDIENCE}/` }, ...noTarget },
  { name: 'resource in another case', change: { resource: OTHER_AUDIENCE.toUpperCase() }, ...noTarget },
  { name: 'resource with a fragment', change: { resource: `${OTHER_AUDIENCE}#x` }, ...noTarget },
  { name: 'resource that is no URI', change: { resource: 'files' }, ...noTarget },
  { name: 'resource with SQL', change: { resource: "' or '1'='1" }, ...noTarget },
  { name: 'resource with a NUL', change: { resource: `${AUDIENCE}\u0000` }, ...malformed('resource') },
  {
    name: 'resource twice, both known',
    change: { resource: AUDIENCE },
    appended: `&resource=${encodeURIComponent(OTHER_AUDIENCE)}`,
    ...once('resource')
  },

  { name: 'state twice', appended: '&state=another', ...once('state'), state: null },
  { name: 'state twice, the same', appended: '&state=a+state', ...once('state'), state: null },
  { name: 'state with a NUL', change: { state: 'a\u0000b' }, ...malformed('state'), state: null },
  {
    name: 'state with a line break',
    change: { state: 'a\r\nLocation: https://evil.example' },
    ...malformed('state'),
    state: null
  },
  { name: 'state not UTF-8', change: { state: undefined }, appended: '&state=%FF', ...malformed('state'), state: null },
  {
    name: 'state with an overlong encoding',
    change: { state: undefined },
    appended: '&state=%C0%80',
    ...malformed('state'),
    state: null
  },
  {
    name: 'state with half a surrogate pair',
    change: { state: undefined },
    appended: '&state=%ED%A0%80',
    ...malformed('state'),
    state: null
  },
  {
    name: 'state with an invalid percent-encoding',
    change: { state: undefined },
    appended: '&state=100%',
    ...malformed('state'),
    state: null
  }
]

describe('redirect to the app contains error, description, error_uri, state and iss only', () => {
  test.each(REFUSALS)('$name: $error (RFC 6749 4.1.2.1, RFC 9207 2)', async (refusal) => {
    const answer = await cases.authorize(refusal)
    expect(answer.statusCode).toBe(303)
    expect(answer.headers['cache-control']).toBe('no-store')
    const location = String(answer.headers.location)
    expect(location.startsWith(`${REDIRECT_URI}?error=`)).toBe(true)
    expect([...new URL(location).searchParams]).toEqual([
      ['error', refusal.error],
      ['error_description', refusal.description],
      ['error_uri', `${ISSUER}/errors/${refusal.error}`],
      ...(refusal.state === null ? [] : [['state', refusal.state ?? 'a state']]),
      ['iss', ISSUER]
    ])
    expect((await cases.send(`/errors/${refusal.error}`)).statusCode).toBe(200)
  })
})
