import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type AuthorizationOutcome, validateAuthorizationRequest } from '../src/authorization-request.js'
import { parseParameters } from '../src/parameters.js'
import { CHALLENGE, type Change, CLIENT, CONTEXT, query } from './authorization-fixture.js'

type Fault = { name: string; change?: Change; appended?: string; unknownClient?: true; decides: object }

const redirect = (error: string, description: RegExp) => ({
  kind: 'redirect_error',
  error,
  description: expect.stringMatching(description)
})

/** One fault for each check, in the order of the checks. */
const FAULTS: readonly Fault[] = [
  { name: 'unknown client', unknownClient: true, decides: { kind: 'show_error_page', reason: 'unknown_client' } },
  {
    name: 'unregistered redirect_uri',
    change: { redirect_uri: 'https://evil.example/' },
    decides: { kind: 'show_error_page', reason: 'redirect_uri_mismatch' }
  },
  { name: 'repeated state', appended: '&state=again', decides: redirect('invalid_request', /state must be sent once/) },
  { name: 'malformed state', change: { state: '\u0000' }, decides: redirect('invalid_request', /state is malformed/) },
  {
    name: 'a request object',
    change: { request: 'eyJ.e30.' },
    decides: redirect('request_not_supported', /request/)
  },
  {
    name: 'a request_uri',
    change: { request_uri: 'https://evil.example/request' },
    decides: redirect('request_uri_not_supported', /request_uri/)
  },
  {
    name: 'response_type token',
    change: { response_type: 'token' },
    decides: redirect('unsupported_response_type', /response_type/)
  },
  {
    name: 'method plain',
    change: { code_challenge_method: 'plain' },
    decides: redirect('invalid_request', /code_challenge_method/)
  },
  { name: 'prompt none login', change: { prompt: 'none login' }, decides: redirect('invalid_request', /prompt/) },
  { name: 'max_age -1', change: { max_age: '-1' }, decides: redirect('invalid_request', /max_age/) },
  { name: 'unknown scope', change: { scope: 'files.delete' }, decides: redirect('invalid_scope', /scope/) },
  {
    name: 'unknown resource',
    change: { resource: 'https://evil.example' },
    decides: redirect('invalid_target', /resource/)
  }
]

const pairs = FAULTS.flatMap((earlier, index) => FAULTS.slice(index + 1).map((later) => ({ earlier, later })))

test.each(pairs)(
  'authorization request: of $earlier.name and $later.name the first decides (RFC 6749 §4.1.2.1)',
  ({ earlier, later }) => {
    const encoded = query({ ...earlier.change, ...later.change }, `${earlier.appended ?? ''}${later.appended ?? ''}`)
    const client = earlier.unknownClient ? undefined : CLIENT
    expect(validateAuthorizationRequest(parseParameters(encoded), { ...CONTEXT, client })).toMatchObject(
      earlier.decides
    )
  }
)

test.each(FAULTS)('authorization request: $name is reported also together with later faults', (fault) => {
  const client = fault.unknownClient ? undefined : CLIENT
  const parameters = parseParameters(query(fault.change, fault.appended))
  expect(validateAuthorizationRequest(parameters, { ...CONTEXT, client })).toMatchObject(fault.decides)
})

test('authorization request: an unknown client is reported before a missing redirect_uri and any other fault', () => {
  const parameters = parseParameters('redirect_uri=https://evil.example&state=a&state=b&response_type=token')
  const outcome = validateAuthorizationRequest(parameters, CONTEXT)
  expect(outcome).toEqual({ kind: 'show_error_page', reason: 'unknown_client' })
})

/** Some values of each parameter, of which the first is right; each may also be sent twice or not at all. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  client_id: ['app', 'other', ''],
  redirect_uri: ['https://app.example/cb', 'http://127.0.0.1:7/cb', 'https://evil.example/cb', 'javascript:x'],
  response_type: ['code', 'token'],
  scope: ['files.read', 'files.read files.write', 'files.delete', 'a"b'],
  state: ['xyz', 'é "\\ &', '\u0000'],
  code_challenge: [CHALLENGE, 'short'],
  code_challenge_method: ['S256', 'plain'],
  resource: ['https://files.example', 'https://evil.example'],
  prompt: ['login consent', 'none', 'none login', 'unknown'],
  max_age: ['300', '0', '-1', 'now']
}

const anyQuery = fc
  .tuple(
    ...Object.entries(VALUES).map(([name, [right = '', ...wrong]]) =>
      fc
        .oneof(
          { weight: 6, arbitrary: fc.constant([right]) },
          { weight: 2, arbitrary: fc.constantFrom(...wrong).map((value) => [value]) },
          { weight: 1, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: fc.constantFrom(right, ...wrong).map((value) => [right, value]) }
        )
        .map((values) => values.map((value): [string, string] => [name, value]))
    )
  )
  .map((sent) => new URLSearchParams(sent.flat()))

/** The expected outcome of a query, computed without the order of the checks. */
function expectSafe(sent: URLSearchParams, outcome: AuthorizationOutcome): void {
  const single = (name: string) => {
    const values = sent.getAll(name).filter((value) => value !== '')
    return values.length === 1 ? values[0] : undefined
  }
  const redirectUri = single('redirect_uri')
  const mayRedirect =
    single('client_id') === 'app' && ['https://app.example/cb', 'http://127.0.0.1:7/cb'].includes(redirectUri ?? '')
  if (outcome.kind === 'show_error_page') {
    expect(mayRedirect).toBe(false)
    return
  }
  expect(mayRedirect).toBe(true)
  const answer = outcome.kind === 'accepted' ? outcome.request : outcome
  const state = single('state')
  expect(answer).toMatchObject({ redirectUri, state: state === '\u0000' ? undefined : state })
  if (outcome.kind === 'redirect_error') {
    expect(outcome.description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    return
  }
  expect(single('response_type')).toBe('code')
  expect(outcome.request.scope.join(' ')).toBe(single('scope'))
  expect(outcome.request.scope).not.toContain('files.delete')
  expect([undefined, CHALLENGE]).toContain(outcome.request.codeChallenge)
  expect(single('code_challenge_method')).toBe(outcome.request.codeChallenge && 'S256')
  expect(outcome.request.audience).toBe('https://files.example')
  expect(outcome.request.maxAge?.toString()).toBe(single('max_age'))
}

test('authorization request: for generated input, only a URI of the client is redirected to, with its own state', () => {
  const kinds = new Set<string>()
  fc.assert(
    fc.property(anyQuery, (sent) => {
      const outcome = validateAuthorizationRequest(parseParameters(sent.toString()), CONTEXT)
      kinds.add(outcome.kind)
      expectSafe(sent, outcome)
    }),
    { numRuns: 500 }
  )
  expect(kinds.size).toBe(3)
})
