import { expect, test } from '@jest/globals'
import { validateAuthorizationRequest } from '../src/authorization-request.js'
import type { Client } from '../src/client.js'
import { parseParameters } from '../src/parameters.js'
import { CHALLENGE, type Change, CLIENT, CONTEXT, query } from './authorization-fixture.js'

const evaluate = (encoded: string, change: Partial<Client> = {}) =>
  validateAuthorizationRequest(parseParameters(encoded), { ...CONTEXT, client: { ...CLIENT, ...change } })
const PLAIN = { code_challenge: 'v'.repeat(64), code_challenge_method: 'plain' }
const NO_PKCE = { code_challenge: undefined, code_challenge_method: undefined }

type Refused = { name: string; change?: Change; appended?: string; client?: Partial<Client>; error: string }

const repeated: readonly Refused[] = [
  { name: 'response_type twice', appended: '&response_type=code', error: 'invalid_request' },
  { name: 'two response types', appended: '&response_type=token', error: 'invalid_request' },
  { name: 'scope twice', appended: '&scope=files.read', error: 'invalid_request' },
  { name: 'code_challenge twice', appended: `&code_challenge=${CHALLENGE}`, error: 'invalid_request' },
  { name: 'code_challenge_method twice', appended: '&code_challenge_method=S256', error: 'invalid_request' },
  {
    name: 'resource twice',
    change: { resource: 'https://files.example' },
    appended: '&resource=https://files.example',
    error: 'invalid_request'
  },
  { name: 'scope twice, once by an encoded name', appended: '&%73cope=files.write', error: 'invalid_request' },
  {
    name: 'a scope with an overlong encoding',
    change: { scope: undefined },
    appended: '&scope=files.read%C0%AF',
    error: 'invalid_request'
  },
  { name: 'a scope that is not UTF-8', change: { scope: undefined }, appended: '&scope=%ff', error: 'invalid_request' },
  { name: 'a scope with a line break', change: { scope: 'files.read\n' }, error: 'invalid_request' },
  { name: 'a scope with NUL', change: { scope: 'files.read\u0000' }, error: 'invalid_request' },
  {
    name: 'a malformed response_type',
    change: { response_type: undefined },
    appended: '&response_type=%',
    error: 'invalid_request'
  },
  { name: 'a malformed code_challenge', change: NO_PKCE, appended: '&code_challenge=%zz', error: 'invalid_request' },
  {
    name: 'a malformed code_challenge_method',
    change: NO_PKCE,
    appended: '&code_challenge_method=%00',
    error: 'invalid_request'
  },
  { name: 'a malformed resource', appended: '&resource=%ff', error: 'invalid_request' },
  { name: 'prompt twice', change: { prompt: 'login' }, appended: '&prompt=login', error: 'invalid_request' },
  {
    name: 'a code_challenge with a line break',
    change: { code_challenge: `${CHALLENGE}\n` },
    error: 'invalid_request'
  },
  { name: 'a resource with NUL', change: { resource: 'https://files.example\u0000' }, error: 'invalid_request' },
  {
    name: 'two known resources',
    change: { resource: 'https://files.example' },
    appended: '&resource=https://photos.example',
    error: 'invalid_request'
  },
  { name: 'a malformed prompt', appended: '&prompt=%ff', error: 'invalid_request' },
  { name: 'max_age twice', change: { max_age: '300' }, appended: '&max_age=300', error: 'invalid_request' },
  { name: 'a malformed max_age', appended: '&max_age=%ff', error: 'invalid_request' },
  ...['-1', '+1', '1.5', '1e3', '0x10', ' 1', '1 ', '١', 'Infinity', 'null'].map((max_age) => ({
    name: `the max_age "${max_age}"`,
    change: { max_age },
    error: 'invalid_request'
  })),
  { name: 'request twice', appended: '&request=a&request=b', error: 'invalid_request' },
  { name: 'request_uri twice', appended: '&request_uri=a&request_uri=b', error: 'invalid_request' },
  { name: 'a malformed request', appended: '&request=%ff', error: 'invalid_request' },
  { name: 'a malformed request_uri', appended: '&request_uri=%ff', error: 'invalid_request' },
  ...['none login', 'consent none', 'none select_account', 'none unknown'].map((prompt) => ({
    name: `the prompts "${prompt}"`,
    change: { prompt },
    error: 'invalid_request'
  }))
]

const responseTypes: readonly Refused[] = [
  { name: 'no response_type', change: { response_type: undefined }, error: 'invalid_request' },
  { name: 'an empty response_type', change: { response_type: '' }, error: 'invalid_request' },
  {
    name: 'response_type only in brackets',
    change: { response_type: undefined },
    appended: '&response_type[]=code',
    error: 'invalid_request'
  },
  ...['token', 'id_token', 'code token', 'code id_token', 'none', 'CODE', 'code ', 'code+', 'codes', 'password'].map(
    (type) => ({
      name: `response_type "${type}"`,
      change: { response_type: type },
      error: 'unsupported_response_type'
    })
  )
]

const challenges: readonly Refused[] = [
  { name: 'a public client without PKCE', client: { type: 'public' }, change: NO_PKCE, error: 'invalid_request' },
  {
    name: 'a client that requires PKCE, without',
    client: { requiresPkce: true },
    change: NO_PKCE,
    error: 'invalid_request'
  },
  {
    name: 'a public client with an empty challenge',
    client: { type: 'public' },
    change: { ...NO_PKCE, code_challenge: '' },
    error: 'invalid_request'
  },
  {
    name: 'a public client with an empty challenge and a method',
    client: { type: 'public' },
    change: { code_challenge: '' },
    error: 'invalid_request'
  },
  { name: 'a public client with method plain', client: { type: 'public' }, change: PLAIN, error: 'invalid_request' },
  { name: 'a challenge without method', change: { code_challenge_method: undefined }, error: 'invalid_request' },
  { name: 'a challenge with an empty method', change: { code_challenge_method: '' }, error: 'invalid_request' },
  { name: 'a method without challenge', change: { code_challenge: undefined }, error: 'invalid_request' },
  ...['plain', 's256', 'S256 ', 'S512', 'none'].map((method) => ({
    name: `the method "${method}"`,
    change: { code_challenge_method: method },
    error: 'invalid_request'
  })),
  { name: 'a challenge of 42 characters', change: { code_challenge: CHALLENGE.slice(1) }, error: 'invalid_request' },
  { name: 'a challenge of 44 characters', change: { code_challenge: `${CHALLENGE}A` }, error: 'invalid_request' },
  { name: 'a padded challenge', change: { code_challenge: `${CHALLENGE}=` }, error: 'invalid_request' },
  {
    name: 'a challenge in plain base64',
    change: { code_challenge: `+/${CHALLENGE.slice(2)}` },
    error: 'invalid_request'
  },
  ...['~', ' ', 'é'].map((character) => ({
    name: `a challenge with "${character}"`,
    change: { code_challenge: CHALLENGE.replace('-', character) },
    error: 'invalid_request'
  })),
  { name: 'a challenge of 6,000 characters', change: { code_challenge: 'a'.repeat(6000) }, error: 'invalid_request' }
]

const scopes: readonly Refused[] = [
  { name: 'no scope', change: { scope: undefined }, error: 'invalid_scope' },
  { name: 'an empty scope', change: { scope: '' }, error: 'invalid_scope' },
  { name: 'a scope of one space', change: { scope: ' ' }, error: 'invalid_scope' },
  { name: 'an unknown scope', change: { scope: 'files.delete' }, error: 'invalid_scope' },
  { name: 'an unknown scope among known ones', change: { scope: 'files.read files.delete' }, error: 'invalid_scope' },
  { name: 'a scope in other case', change: { scope: 'Files.Read' }, error: 'invalid_scope' },
  { name: 'a part of an allowed scope', change: { scope: 'files' }, error: 'invalid_scope' },
  { name: 'more than an allowed scope', change: { scope: 'files.read:images' }, error: 'invalid_scope' },
  { name: 'two spaces between scopes', change: { scope: 'files.read  files.write' }, error: 'invalid_scope' },
  { name: 'a space before the scope', change: { scope: ' files.read' }, error: 'invalid_scope' },
  { name: 'a comma between scopes', change: { scope: 'files.read,files.write' }, error: 'invalid_scope' },
  { name: 'a scope with a quotation mark', change: { scope: 'files.read"' }, error: 'invalid_scope' },
  ...['&scope[]=files.read', '&scope%5B0%5D=files.read'].map((appended) => ({
    name: `only ${appended}`,
    change: { scope: undefined },
    appended,
    error: 'invalid_scope'
  })),
  ...['files.read:', 'files.*', '*', 'files.read ', 'files.read;files.write', 'files.read\u00a0files.write'].map(
    (scope) => ({ name: `the scope "${scope}"`, change: { scope }, error: 'invalid_scope' })
  ),
  ...['files.read\\', 'openid', 'offline_access', 'f'.repeat(6000)].map((scope) => ({
    name: `the scope "${scope.slice(0, 20)}"`,
    change: { scope },
    error: 'invalid_scope'
  })),
  { name: 'scopes of two APIs', change: { scope: 'files.read photos.read' }, error: 'invalid_scope' },
  {
    name: 'a scope of another API than resource names',
    change: { resource: 'https://photos.example' },
    error: 'invalid_scope'
  },
  { name: 'a client without scopes', client: { requiredScopes: [], optionalScopes: [] }, error: 'invalid_scope' }
]

const resources: readonly Refused[] = [
  'https://evil.example',
  'https://files.example//',
  'https://files.example#x',
  'files',
  "' or '1'='1",
  ' '
].map((resource) => ({ name: `the resource "${resource}"`, change: { resource }, error: 'invalid_target' }))

const PLAIN_DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

test.each([...repeated, ...responseTypes, ...challenges, ...scopes, ...resources])(
  'authorization request: $name is sent back as $error, with the state (RFC 6749 §4.1.2.1, RFC 7636 §4.4.1, RFC 8707 §2)',
  ({ change, appended, client, error }) => {
    expect(evaluate(query(change, appended), client)).toEqual({
      kind: 'redirect_error',
      redirectUri: 'https://app.example/cb',
      state: 'xyz',
      error,
      description: expect.stringMatching(PLAIN_DESCRIPTION)
    })
  }
)

test.each(['response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method', 'resource'])(
  'authorization request: %s repeated or malformed is called that, not missing (RFC 6749 §4.1.2.1)',
  (name) => {
    const described = (sent: string) => evaluate(query({ [name]: undefined }, sent))
    expect(described(`&${name}=a&${name}=b`)).toMatchObject({ description: `The parameter ${name} must be sent once.` })
    expect(described(`&${name}=%ff`)).toMatchObject({ description: `The parameter ${name} is malformed.` })
  }
)

test.each([
  { name: 'two states', appended: '&state=again' },
  { name: 'the same state twice', appended: '&state=xyz' },
  { name: 'a second state that is malformed', appended: '&state=%ff' },
  { name: 'a state that is not UTF-8', change: { state: undefined }, appended: '&state=%ff' },
  { name: 'a state with a line break', change: { state: 'a\r\nb' } },
  { name: 'a state with NUL', change: { state: '\u0000' } },
  { name: 'a state with an overlong encoding', change: { state: undefined }, appended: '&state=%C0%80' },
  { name: 'a state with half a surrogate pair', change: { state: undefined }, appended: '&state=%ED%A0%80' },
  { name: 'a state with an invalid percent-encoding', change: { state: undefined }, appended: '&state=100%' }
])('authorization request: $name is invalid_request, and the response has no state (RFC 6749 §4.1.2.1)', (given) => {
  expect(evaluate(query(given.change, given.appended))).toMatchObject({
    kind: 'redirect_error',
    error: 'invalid_request',
    state: undefined
  })
})

test('authorization request: an error is sent to the requested loopback port (RFC 8252 §7.3)', () => {
  const redirectUri = 'http://127.0.0.1:5123/cb'
  expect(evaluate(query({ redirect_uri: redirectUri, scope: undefined }))).toMatchObject({ redirectUri })
})
