import { type FakeEndpoint, json, raw } from '../fake-introspection-endpoint.js'

export const ISSUER = 'https://auth.example'
export const RESOURCE = 'https://reports.example/api'
export const METADATA_PATH = '/.well-known/oauth-protected-resource/api'
const FORM = 'application/x-www-form-urlencoded'

export type ApiRequest = {
  method: string
  target: string
  headers: readonly (readonly [string, string])[]
  body: string
}

export type Expected = { status: number; error?: string; scope?: string; maxAge?: number; calls?: number }

/** How an API differs from others in what its guard sees. */
export type Traits = {
  /** Repeated headers arrive joined with a comma. */
  joinsHeaders?: true
  /** It parses forms, so that a second token in one is refused. */
  parsesForms?: true
  /** Its HTTP server replaces tabs in header values with spaces, as the one of the JDK does. */
  replacesTabs?: true
}

export type Case = {
  name: string
  request?: Partial<ApiRequest>
  /** The response of the introspection endpoint. Default: a valid token. */
  answer?: Parameters<FakeEndpoint['answers']>[0]
  expected: Expected
  /** If the API joins repeated headers. */
  joined?: Expected
  /** If the API does not parse forms. */
  unparsed?: Expected
  /** If the API's server replaces tabs. */
  withoutTabs?: Expected
}

export const live = {
  active: true,
  scope: 'profile reports.read',
  client_id: 'printer',
  sub: 'alice-id',
  iss: ISSUER,
  aud: RESOURCE,
  exp: Math.floor(Date.now() / 1000) + 3600,
  jti: 'token-1',
  token_type: 'Bearer',
  grant_id: 'grant-1'
}

const good = ['Authorization', 'Bearer abc'] as const
const line = (...values: string[]) => ({ headers: values.map((value) => ['Authorization', value] as const) })

export const ACCEPTED: Expected = { status: 200, calls: 1 }
const NO_CREDENTIALS: Expected = { status: 401, calls: 0 }
const MALFORMED: Expected = { status: 401, error: 'invalid_token', calls: 0 }
const AMBIGUOUS: Expected = { status: 400, error: 'invalid_request', calls: 0 }
export const INVALID: Expected = { status: 401, error: 'invalid_token', calls: 1 }

function expecting(expected: Expected, cases: readonly Omit<Case, 'expected'>[]): Case[] {
  return cases.map((each) => ({ ...each, expected }))
}

/** The token is read from the header alone (RFC 6750 §2.1, RFC 9110 §5.5, §11.1). */
const acceptedHeaders = expecting(ACCEPTED, [
  { name: 'a header as in the RFC', request: line('Bearer abc') },
  { name: 'a header name in lower case', request: { headers: [['authorization', 'Bearer abc']] } },
  { name: 'a header name in upper case', request: { headers: [['AUTHORIZATION', 'Bearer abc']] } },
  { name: 'a scheme in lower case', request: line('bearer abc') },
  { name: 'a scheme in upper case', request: line('BEARER abc') },
  { name: 'several spaces after the scheme', request: line('Bearer    abc') },
  { name: 'white space around the field value', request: line('\t Bearer abc \t ') },
  { name: 'every character of b64token', request: line('Bearer aZ09-._~+/==') },
  { name: 'a single character', request: line('Bearer a') },
  { name: 'a token of 8 KB', request: line(`Bearer ${'a'.repeat(8192)}`) },
  { name: 'an empty parameter in the query', request: { target: '/reports?access_token=', headers: [good] } },
  {
    name: 'parameters of similar names',
    request: { target: '/reports?access_tokens=abc&Access_Token=abc', headers: [good] }
  },
  { name: 'a semicolon in the query', request: { target: '/reports?a=b;access_token=abc', headers: [good] } }
])

const acceptedResults = expecting(ACCEPTED, [
  { name: 'an audience in a list', answer: json({ ...live, aud: ['https://other.example', RESOURCE] }) },
  { name: 'token_type in lower case', answer: json({ ...live, token_type: 'bearer' }) },
  { name: 'only the required members', answer: json({ active: true, aud: RESOURCE, scope: 'reports.read' }) }
])

/** 401 without an error code (RFC 6750 §3.1). */
const withoutCredentials = expecting(NO_CREDENTIALS, [
  { name: 'no header', request: { headers: [] } },
  { name: 'an empty header', request: line('') },
  { name: 'another scheme', request: line('Basic YTpi') },
  { name: 'another scheme with commas', request: line('Digest username="a", realm="b"') },
  { name: 'a longer scheme', request: line('BearerX abc') },
  { name: 'a scheme of two words', request: line('Bearer-Token abc') },
  { name: 'a bare token', request: line('abc') },
  { name: 'DPoP', request: line('DPoP abc') },
  { name: 'another header', request: { headers: [['Proxy-Authorization', 'Bearer abc']] } },
  { name: 'a cookie', request: { headers: [['Cookie', 'access_token=abc']] } },
  { name: 'a form', request: { method: 'POST', headers: [['Content-Type', FORM]], body: 'access_token=abc' } },
  { name: 'a HEAD request without a header', request: { method: 'HEAD', headers: [] } }
])

/** The scheme Bearer without one well-formed token (RFC 6750 §3.1). */
const malformed = expecting(MALFORMED, [
  { name: 'the scheme alone', request: line('Bearer') },
  { name: 'an equals sign instead of a space', request: line('Bearer=abc') },
  { name: 'a tab instead of a space', request: line('Bearer\tabc'), withoutTabs: ACCEPTED },
  { name: 'only padding', request: line('Bearer ==') },
  { name: 'an equals sign within', request: line('Bearer a=b') },
  { name: 'two tokens', request: line('Bearer abc def') },
  { name: 'auth-params', request: line('Bearer token="abc"') },
  { name: 'quotes', request: line('Bearer "abc"') },
  { name: 'percent-encoding', request: line('Bearer a%62c') },
  { name: 'a Latin-1 letter', request: line('Bearer abcé') },
  // Two headers look the same after `Headers` has joined them.
  { name: 'a comma after the token', request: line('Bearer abc,'), joined: AMBIGUOUS },
  { name: 'two credentials in one header', request: line('Bearer abc, Bearer abc'), joined: AMBIGUOUS }
])

/** RFC 6750 §2, §2.3, §3.1. */
const ambiguous = expecting(AMBIGUOUS, [
  { name: 'two equal headers', request: line('Bearer abc', 'Bearer abc') },
  { name: 'a second header of another scheme', request: line('Bearer abc', 'Basic YTpi') },
  { name: 'a first header of another scheme', request: line('Basic YTpi', 'Bearer abc') },
  { name: 'a second header that is empty', request: line('Bearer abc', '') },
  { name: 'a token in the query', request: { target: '/reports?access_token=abc', headers: [] } },
  { name: 'a token in the query, after others', request: { target: '/reports?a=b&access_token=abc', headers: [] } },
  { name: 'a token in the query, its name encoded', request: { target: '/reports?access%5Ftoken=abc', headers: [] } },
  { name: 'a token in the query, malformed', request: { target: '/reports?access_token=%ff', headers: [] } },
  { name: 'two tokens in the query', request: { target: '/reports?access_token=a&access_token=b', headers: [] } },
  { name: 'a token in query and header', request: { target: '/reports?access_token=abc' } }
])

/** The same response for all (RFC 6750 §3.1). */
const invalid = expecting(INVALID, [
  { name: 'a token that is not active', answer: json({ active: false }) },
  { name: 'a token that is not active, with its members', answer: json({ ...live, active: false }) },
  { name: 'an expired token', answer: json({ ...live, exp: live.exp - 7200 }) },
  { name: 'a token for another audience', answer: json({ ...live, aud: 'https://other.example' }) },
  { name: 'a token without an audience', answer: json({ ...live, aud: undefined }) },
  { name: 'a token of another issuer', answer: json({ ...live, iss: 'https://evil.example' }) },
  { name: 'a DPoP token', answer: json({ ...live, token_type: 'DPoP' }) },
  { name: 'a token bound to a key', answer: json({ ...live, cnf: { jkt: 'x' } }) },
  {
    name: 'a token limited to what this API does not know (RFC 9396 §9)',
    answer: json({ ...live, authorization_details: [{ type: 'reports', identifier: 'a' }] })
  }
])

const insufficient: Case[] = [
  {
    name: 'a token without the scope',
    answer: json({ ...live, scope: 'profile' }),
    expected: { status: 403, error: 'insufficient_scope', calls: 1 }
  },
  {
    name: 'a token with a longer scope',
    answer: json({ ...live, scope: 'reports.read.all' }),
    expected: { status: 403, error: 'insufficient_scope', calls: 1 }
  }
]

const outages: Case[] = [
  ...expecting({ status: 503, calls: 1 }, [
    { name: 'a server error at introspection', answer: raw(500, '') },
    { name: 'a 401 for the credentials of this API', answer: raw(401, '{"error":"invalid_client"}') },
    { name: 'a live token with status 500', answer: raw(500, JSON.stringify(live)) },
    { name: 'an introspection response that is not JSON', answer: raw(200, '<html>') },
    { name: 'an introspection response without active', answer: json({}) },
    { name: 'active as a string', answer: json({ ...live, active: 'true' }) },
    { name: 'a redirect', answer: (response) => response.writeHead(307, { location: '/other' }).end() },
    { name: 'a redirect to a GET', answer: (response) => response.writeHead(302, { location: '/other' }).end() },
    { name: 'a stall before the headers', answer: () => undefined },
    { name: 'a stall within the body', answer: (response) => response.writeHead(200).write('{"active":true,') }
  ]),
  // A guard may call again.
  { name: 'a broken connection', answer: (response) => response.destroy(), expected: { status: 503 } }
]

const post = (type: string, body: string): Partial<ApiRequest> => ({
  method: 'POST',
  headers: [good, ['Content-Type', type]],
  body
})

const bodies: Case[] = [
  {
    name: 'a second token in a form',
    request: post(FORM, 'a=b&access_token=abc'),
    expected: { ...AMBIGUOUS, calls: 1 },
    unparsed: ACCEPTED
  },
  { name: 'a form without a token', request: post(FORM, 'a=access_token'), expected: ACCEPTED },
  { name: 'access_token in JSON', request: post('application/json', '{"access_token":"abc"}'), expected: ACCEPTED }
]

/** Each runs against each adapter and each guard in examples/guards. */
export const CASES: readonly Case[] = [
  ...[acceptedHeaders, acceptedResults, withoutCredentials, malformed, ambiguous].flat(),
  ...[invalid, insufficient, outages, bodies].flat()
]

/** Only for the adapters. The example guards compare audiences as strings and have one route with one scope. */
export const ADAPTER_CASES: readonly Case[] = [
  {
    name: 'the audience with its default port',
    answer: json({ ...live, aud: 'https://reports.example:443/api' }),
    expected: ACCEPTED
  },
  {
    name: 'a token with one of two required scopes',
    request: { target: '/both' },
    expected: { status: 403, error: 'insufficient_scope', scope: 'reports.read reports.write', calls: 1 }
  }
]

export function expectedOf({ joined, unparsed, withoutTabs, expected }: Case, traits: Traits): Expected {
  if (traits.joinsHeaders && joined) return joined
  if (traits.replacesTabs && withoutTabs) return withoutTabs
  return (!traits.parsesForms && unparsed) || expected
}
