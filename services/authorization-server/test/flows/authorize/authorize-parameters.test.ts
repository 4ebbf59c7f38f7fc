import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, type Credentials, ISSUER, REDIRECT_URI } from '../../support/authorization-server.js'
import {
  type AuthorizeCase,
  type AuthorizeCases,
  CHALLENGE,
  OTHER_AUDIENCE,
  openAuthorizeCases,
  S256
} from '../../support/authorize-cases.js'
import { authorizeUrl } from '../../support/flow.js'
import type { RawAnswer } from '../../support/over-the-wire.js'
import { otherAddressesOn, visibleText } from '../../support/page-content.js'
import { disable } from '../../support/tokens.js'

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
const badScope = (named: string) => ({
  error: 'invalid_scope',
  description: `${named} is unknown or not allowed for this client.`
})
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
const badMaxAge = { error: 'invalid_request', description: 'max_age is not a number of whole seconds.' }
const noRequest = { error: 'request_not_supported', description: 'The parameter request is not supported.' }
const noRequestUri = {
  error: 'request_uri_not_supported',
  description: 'This request_uri is not one of this server.'
}
const needsLogin = { error: 'login_required', description: 'The user must sign in.' }
const noType = { error: 'invalid_request', description: 'The parameter response_type is missing.' }

/** One for each description; authorization-request-refusals.test.ts of oauth-protocol has all. */
const REFUSALS: readonly Refusal[] = [
  { name: 'response_type missing', change: { response_type: undefined }, ...noType },
  { name: 'response_type "token"', change: { response_type: 'token' }, ...noCode },
  { name: 'response_type twice', appended: '&response_type=code', ...once('response_type') },
  {
    name: 'response_type broken',
    change: { response_type: undefined },
    appended: '&response_type=%c',
    ...malformed('response_type')
  },

  { name: 'scope missing', change: { scope: undefined }, ...noScope },
  { name: 'scope only in brackets', change: { scope: undefined }, appended: '&scope[]=files.read', ...noScope },
  {
    name: 'scope only behind a semicolon',
    change: { scope: undefined },
    appended: ';scope=files.read',
    ...noScope,
    state: 'a state;scope=files.read'
  },
  { name: 'scopes of two APIs', change: { scope: 'files.read photos.read' }, ...twoApis },
  { name: 'scope of another API than resource', change: { scope: 'photos.read', resource: AUDIENCE }, ...twoApis },
  {
    name: 'scope "files.read files.write"',
    change: { scope: 'files.read files.write' },
    ...badScope('The scope files.write')
  },
  {
    name: 'scope "files.read:media"',
    change: { scope: 'files.read:media' },
    ...badScope('The scope files.read:media')
  },
  { name: 'scope of 6,000 characters', change: { scope: 'f'.repeat(6000) }, ...badScope('A scope') },
  {
    name: 'scope with two spaces',
    change: { scope: 'files.read  files.write' },
    error: 'invalid_scope',
    description: 'The scope is malformed.'
  },
  { name: 'scope not UTF-8', change: { scope: undefined }, appended: '&scope=files.read%C0%AF', ...malformed('scope') },
  { name: 'scope twice, once by an encoded name', appended: '&%73cope=files.read%3Aimages', ...once('scope') },

  { name: 'a request object', appended: '&request=eyJhbGciOiJub25lIn0.e30.', ...noRequest },
  { name: 'request twice', appended: '&request=a&request=b', ...once('request') },
  { name: 'a request_uri', appended: '&request_uri=https%3A%2F%2Fevil.example%2Frequest', ...noRequestUri },

  { name: 'prompt twice', appended: '&prompt=login&prompt=login', ...once('prompt') },
  { name: 'prompt none with login', change: { prompt: 'none login' }, ...badPrompt },
  { name: 'max_age twice', appended: '&max_age=300&max_age=300', ...once('max_age') },
  { name: 'max_age -1', change: { max_age: '-1' }, ...badMaxAge },
  { name: 'max_age 300.5', change: { max_age: '300.5' }, ...badMaxAge },
  { name: 'prompt none without a session', change: { prompt: 'none' }, ...needsLogin },

  { name: 'no challenge, public client', client: 'public', ...needsPkce },
  { name: 'no challenge, client that requires PKCE', client: 'pkce', ...needsPkce },
  { name: 'a method without challenge', change: { code_challenge_method: 'S256' }, ...loneMethod },
  { name: 'method plain', change: method('plain'), ...badMethod },
  { name: 'no method, which would mean plain', change: method(undefined), ...badMethod },
  { name: 'a padded challenge', change: challenge(`${CHALLENGE}=`), ...badChallenge },
  { name: 'challenge with a line break', change: challenge(`${CHALLENGE}\n`), ...malformed('code_challenge') },
  { name: 'challenge twice', change: S256, appended: `&code_challenge=${CHALLENGE}`, ...once('code_challenge') },

  { name: 'resource unknown', change: { resource: 'https://evil.example/' }, ...noTarget },
  { name: 'resource in another case', change: { resource: OTHER_AUDIENCE.toUpperCase() }, ...noTarget },
  { name: 'resource with a NUL', change: { resource: `${AUDIENCE}\u0000` }, ...malformed('resource') },
  {
    name: 'resource twice, both known',
    change: { resource: AUDIENCE },
    appended: `&resource=${encodeURIComponent(OTHER_AUDIENCE)}`,
    ...once('resource')
  },

  { name: 'state twice', appended: '&state=another', ...once('state'), state: null },
  {
    name: 'state with a line break',
    change: { state: 'a\r\nLocation: https://evil.example' },
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

const ACCEPTED: readonly AuthorizeCase[] = [
  { name: 'only required parameters and state' },
  { name: 'an optional scope alone', change: { scope: 'files.read:images' } },
  { name: 'all scopes', change: { scope: 'files.read:images files.read' } },
  { name: 'one scope named twice', change: { scope: 'files.read files.read' } },
  { name: 'an S256 challenge', change: S256 },
  { name: 'an S256 challenge, public client', client: 'public', change: S256 },
  { name: 'an S256 challenge, client that requires PKCE', client: 'pkce', change: S256 },
  { name: 'an empty challenge and an empty method', change: { code_challenge: '', code_challenge_method: '' } },
  { name: 'the default resource by name', change: { resource: AUDIENCE } },
  { name: 'the default resource with a slash', change: { resource: `${AUDIENCE}/` } },
  { name: 'another registered resource', change: { resource: OTHER_AUDIENCE, scope: 'photos.read' } },
  { name: 'a scope of another API without resource', change: { scope: 'photos.read' } },
  { name: 'no scope, and a resource with a default scope', change: { resource: OTHER_AUDIENCE, scope: undefined } },
  { name: 'an empty resource', change: { resource: '' } },
  { name: 'no state', change: { state: undefined } },
  { name: 'an empty second state', appended: '&state=' },
  { name: 'an unknown parameter', appended: '&foo=bar' },
  { name: 'an unknown parameter, repeated', appended: '&foo=1&foo=2' },
  { name: 'an unknown parameter that is malformed', appended: '&foo=%00%FF%zz' },
  { name: 'an unknown parameter with a malformed name', appended: '&%zz=1&%FF=2' },
  { name: 'names of JavaScript objects', appended: '&__proto__=1&constructor=2&toString=3&__proto__[state]=4' },
  { name: 'known parameters with brackets', appended: '&scope[]=files.write&state[a]=1&response_type[]=token' },
  { name: 'known parameters in upper case', appended: '&SCOPE=files.write&State=1&Response_Type=token' },
  { name: 'ampersands and equals signs alone', appended: '&&&=&==&a&b=' },
  { name: 'prompt=login&max_age=0', appended: '&prompt=login&max_age=0' },
  { name: 'a huge max_age', appended: `&max_age=${'9'.repeat(1000)}` },
  { name: 'an empty max_age', appended: '&max_age=' },
  { name: 'an unknown prompt', appended: '&prompt=create' },
  { name: 'response_mode=fragment', appended: '&response_mode=fragment' },
  { name: 'nonce, display, login_hint, ui_locales', appended: '&nonce=n&display=popup&login_hint=alice&ui_locales=de' },
  { name: 'a code_verifier', appended: `&code_verifier=${'v'.repeat(43)}` },
  { name: 'a client_secret', appended: '&client_secret=vk_cs_x' },
  { name: 'parameters named resume and again', appended: '&resume=abc&resume=def&again=abc' },
  { name: 'parameters named purpose, token and page', appended: '&purpose=invitation&token=abc&page=password' }
]

describe('an accepted request redirects to the sign-in page', () => {
  test.each(ACCEPTED)('$name', async (request) => {
    const answer = await cases.authorize(request)
    expect(answer.statusCode).toBe(303)
    const location = String(answer.headers.location)
    expect(location.startsWith(`${ISSUER}/login?`)).toBe(true)
    expect(location).not.toMatch(/resume|again/)
  })
})

describe('the order of the checks', () => {
  type Change = Record<string, string | undefined>

  let client: Credentials
  let other: Credentials
  let disabled: Credentials

  beforeAll(async () => {
    const { server } = cases
    client = await server.createClient()
    other = await server.createClient({ redirectUris: ['https://other.example/callback'] })
    disabled = await server.createClient()
    await disable(server, 'client', disabled.clientId)
  })

  /** Everything that a redirect could report is wrong as well, so that only the order keeps the redirect from happening. */
  const ALL_ELSE_WRONG: Change = {
    response_type: 'token',
    scope: 'nonsense',
    code_challenge: 'short',
    resource: 'https://evil.example/'
  }

  async function authorize(change: Change = {}, appended = ''): Promise<RawAnswer> {
    return cases.send(authorizeUrl(client.clientId, change).slice(ISSUER.length) + appended, {
      headers: { accept: 'text/html' }
    })
  }

  function expectErrorPage(answer: RawAnswer, title: string): void {
    expect(answer.statusCode).toBe(400)
    expect(answer.headers).not.toHaveProperty('location')
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(visibleText(answer.body)).toContain(title)
    expect(otherAddressesOn(answer.body)).toEqual([])
    expect(answer.body).not.toMatch(/="[^"]*(evil|app\.example)/)
  }

  const UNKNOWN_CLIENT = 'This app is not known here'
  const WRONG_REDIRECT_URI = 'This app sent a wrong return address'

  describe('invalid client_id: an error page with status 400, with or without other faults (RFC 6749 §4.1.2.1)', () => {
    test.each<{ name: string; change?: Change; appended?: (ids: Record<string, string>) => string }>([
      { name: 'missing', change: { client_id: undefined } },
      { name: 'empty', change: { client_id: '' } },
      { name: 'unknown', change: { client_id: 'client_nobody' } },
      { name: 'a space', change: { client_id: ' ' } },
      { name: 'longer than any', change: { client_id: 'c'.repeat(129) } },
      { name: 'much longer than any', change: { client_id: 'c'.repeat(5000) } },
      { name: 'with a NUL', change: { client_id: 'client\u0000' } },
      { name: 'SQL', change: { client_id: "' or client_id like '%" } },
      { name: 'markup', change: { client_id: '<a href="https://evil.example">here</a>' } },
      { name: 'sent twice, both right', appended: ({ client_id }) => `&client_id=${client_id}` },
      { name: 'sent twice, the second of another client', appended: ({ other_id }) => `&client_id=${other_id}` },
      { name: 'sent twice, the second one empty-looking', appended: () => '&client_id=%20' },
      { name: 'sent twice, once percent-encoded by name', appended: ({ client_id }) => `&client%5Fid=${client_id}` },
      {
        name: 'in brackets only',
        change: { client_id: undefined },
        appended: ({ client_id }) => `&client_id[]=${client_id}`
      },
      {
        name: 'in upper case by name only',
        change: { client_id: undefined },
        appended: ({ client_id }) => `&CLIENT_ID=${client_id}`
      },
      {
        name: 'behind a semicolon only',
        change: { client_id: undefined },
        appended: ({ client_id }) => `;client_id=${client_id}`
      },
      { name: 'not UTF-8', change: { client_id: undefined }, appended: () => '&client_id=%FF%FE' },
      { name: 'invalid percent-encoding', change: { client_id: undefined }, appended: () => '&client_id=%zz' }
    ])('$name', async ({ change = {}, appended = () => '' }) => {
      const tail = appended({ client_id: client.clientId, other_id: other.clientId })
      expectErrorPage(await authorize(change, tail), UNKNOWN_CLIENT)
      expectErrorPage(await authorize({ ...ALL_ELSE_WRONG, ...change }, tail), UNKNOWN_CLIENT)
    })

    test.each([
      ['in another case', () => client.clientId.toUpperCase()],
      ['with a trailing blank', () => `${client.clientId} `],
      ['with a trailing NUL', () => `${client.clientId}\u0000`],
      ['of a disabled client', () => disabled.clientId]
    ])('one %s: unknown client', async (_name, clientId) => {
      expectErrorPage(await authorize({ client_id: clientId() }), UNKNOWN_CLIENT)
    })

    test('an empty client_id beside the valid one counts as absent', async () => {
      expect((await authorize({}, '&client_id=')).statusCode).toBe(303)
    })

    test('an unknown client is reported before a wrong redirect_uri', async () => {
      expectErrorPage(await authorize({ client_id: 'unknown', redirect_uri: 'https://evil.example/' }), UNKNOWN_CLIENT)
    })
  })

  describe('invalid redirect_uri: an error page with status 400, with or without other faults (RFC 6749 §4.1.2.1)', () => {
    test.each<{ name: string; change?: Change; appended?: string }>([
      { name: 'missing', change: { redirect_uri: undefined } },
      { name: 'empty', change: { redirect_uri: '' } },
      { name: 'of another client', change: { redirect_uri: 'https://other.example/callback' } },
      { name: 'unregistered', change: { redirect_uri: 'https://evil.example/callback' } },
      { name: 'sent twice, both right', appended: `&redirect_uri=${encodeURIComponent(REDIRECT_URI)}` },
      { name: 'sent twice, the second one evil', appended: '&redirect_uri=https%3A%2F%2Fevil.example%2F' },
      { name: 'sent twice, once percent-encoded by name', appended: '&redirect%5Furi=https%3A%2F%2Fevil.example%2F' },
      {
        name: 'in brackets only',
        change: { redirect_uri: undefined },
        appended: '&redirect_uri[]=https%3A%2F%2Fapp.example%2Fcallback'
      },
      {
        name: 'not UTF-8',
        change: { redirect_uri: undefined },
        appended: '&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback%FF'
      },
      {
        name: 'invalid percent-encoding',
        change: { redirect_uri: undefined },
        appended: '&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback%'
      },
      { name: 'encoded twice', change: { redirect_uri: encodeURIComponent(REDIRECT_URI) } }
    ])('$name', async ({ change = {}, appended = '' }) => {
      expectErrorPage(await authorize(change, appended), WRONG_REDIRECT_URI)
      expectErrorPage(await authorize({ ...ALL_ELSE_WRONG, ...change }, appended), WRONG_REDIRECT_URI)
    })

    test('a missing redirect URI is not replaced by the only registered one', async () => {
      expectErrorPage(await authorize({ redirect_uri: undefined }), WRONG_REDIRECT_URI)
    })
  })

  describe('with a valid client and redirect URI, errors are sent by redirect', () => {
    const WRONGS: readonly { name: string; change: Change; appended?: string; error: string }[] = [
      { name: 'a repeated parameter', change: {}, appended: '&scope=files.read', error: 'invalid_request' },
      { name: 'a malformed parameter', change: { scope: 'files.read\u0000' }, error: 'invalid_request' },
      { name: 'another response_type', change: { response_type: 'token' }, error: 'unsupported_response_type' },
      {
        name: 'a bad challenge',
        change: { code_challenge: 'x', code_challenge_method: 'S256' },
        error: 'invalid_request'
      },
      { name: 'an unknown scope', change: { scope: 'nonsense' }, error: 'invalid_scope' },
      { name: 'an unknown resource', change: { resource: 'https://evil.example/' }, error: 'invalid_target' }
    ]
    const pairs = WRONGS.flatMap((first, index) => WRONGS.slice(index + 1).map((second) => ({ first, second })))

    test.each(pairs)('$first.name and $second.name: the first is reported', async ({ first, second }) => {
      const change = { ...second.change, ...first.change }
      const answer = await authorize(change, `${first.appended ?? ''}${second.appended ?? ''}`)
      expect(answer.statusCode).toBe(303)
      const location = new URL(String(answer.headers.location))
      expect(location.origin + location.pathname).toBe(REDIRECT_URI)
      expect(location.searchParams.get('error')).toBe(first.error)
    })
  })

  describe('the length of a request', () => {
    test.each([
      { length: 8000, status: 303 },
      { length: 8001, status: 400 }
    ])('a query of $length characters is $status', async ({ length, status }) => {
      const path = authorizeUrl(client.clientId).slice(ISSUER.length)
      const filler = 'a'.repeat(length - (path.length - '/oauth/authorize?'.length) - '&x='.length)
      const answer = await cases.send(`${path}&x=${filler}`, { headers: { accept: 'text/html' } })
      expect(answer.statusCode).toBe(status)
      if (status === 400) expectErrorPage(answer, 'This request is too long')
    })

    test('a query that does not fit into the request head is 431', async () => {
      const answer = await authorize({}, `&x=${'a'.repeat(17_000)}`)
      expect(answer.statusCode).toBe(431)
      expect(answer.headers['cache-control']).toBe('no-store')
    })
  })
})

describe('redirect URIs', () => {
  const REGISTERED = {
    web: ['https://app.example/callback', 'https://app.example/with?tenant=a%2Fb&x=1'],
    loopback: ['http://127.0.0.1/cb', 'http://[::1]:8000/cb?x=1', 'https://localhost:9000/cb', 'https://127.0.0.1/tls'],
    localhost: ['http://localhost:5000/cb'],
    app: ['com.example.app:/cb']
  } as const

  type Kind = keyof typeof REGISTERED

  const clientIds = new Map<Kind, string>()

  beforeAll(async () => {
    for (const [kind, redirectUris] of Object.entries(REGISTERED)) {
      clientIds.set(kind as Kind, (await cases.server.createClient({ redirectUris })).clientId)
    }
  })

  /** With another fault in the request, the error is sent to a redirect URI that passes. */
  async function tryRedirectUri(kind: Kind, redirectUri: string): Promise<RawAnswer> {
    const change = { redirect_uri: redirectUri, response_type: 'token' }
    const url = authorizeUrl(clientIds.get(kind) ?? '', change)
    return cases.send(url.slice(ISSUER.length), { headers: { accept: 'text/html' } })
  }

  /** One of each kind of difference; redirect-uri.test.ts of oauth-protocol has all. */
  const refused: Readonly<Record<Kind, readonly string[]>> = {
    web: [
      'https://app.example/callback/',
      'https://app.example/x/../callback',
      'https://app.example/%63allback',
      'https://app.example/callback?x=1',
      'https://app.example/with',
      'https://app.example/with?tenant=a%2fb&x=1',
      'https://app.example/callback#fragment',
      'javascript:alert(1)',
      'https://app.example:443/callback',
      'https://app.example@evil.example/callback',
      'https://app.example\\@evil.example/callback',
      'https://аpp.example/callback',
      ' https://app.example/callback',
      'https://app.example/callback\u0000',
      'https://app.example/callback https://evil.example/'
    ],
    loopback: [
      'http://localhost/cb',
      'https://127.0.0.1:5000/tls',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:80\\@evil.example/cb',
      'http://[::1]:5000/cb?x=2'
    ],
    localhost: ['http://127.0.0.1:5000/cb'],
    app: ['com.example.app://cb']
  }

  describe('a redirect_uri with any difference gets an error page (RFC 9700 §2.1)', () => {
    const cases = Object.entries(refused).flatMap(([kind, uris]) => uris.map((uri) => ({ kind: kind as Kind, uri })))

    test.each(cases)('$kind: $uri', async ({ kind, uri }) => {
      const answer = await tryRedirectUri(kind, uri)
      expect(answer.statusCode).toBe(400)
      expect(answer.headers).not.toHaveProperty('location')
      expect(visibleText(answer.body)).toContain('This app sent a wrong return address')
      expect(otherAddressesOn(answer.body)).toEqual([])
    })
  })

  describe('a registered redirect_uri receives the response, exactly as requested (RFC 8252 §7.3)', () => {
    test.each<{ kind: Kind; uri: string }>([
      { kind: 'web', uri: 'https://app.example/callback' },
      { kind: 'web', uri: 'https://app.example/with?tenant=a%2Fb&x=1' },
      { kind: 'app', uri: 'com.example.app:/cb' },
      { kind: 'loopback', uri: 'https://localhost:9000/cb' },
      { kind: 'loopback', uri: 'https://127.0.0.1/tls' },
      { kind: 'loopback', uri: 'http://127.0.0.1/cb' },
      { kind: 'loopback', uri: 'http://127.0.0.1:1/cb' },
      { kind: 'loopback', uri: 'http://127.0.0.1:80/cb' },
      { kind: 'loopback', uri: 'http://127.0.0.1:51004/cb' },
      { kind: 'loopback', uri: 'http://127.0.0.1:65535/cb' },
      { kind: 'loopback', uri: 'http://[::1]:8000/cb?x=1' },
      { kind: 'loopback', uri: 'http://[::1]:51004/cb?x=1' },
      { kind: 'loopback', uri: 'http://[::1]/cb?x=1' },
      { kind: 'localhost', uri: 'http://localhost:5000/cb' },
      { kind: 'localhost', uri: 'http://localhost:51004/cb' },
      { kind: 'localhost', uri: 'http://localhost/cb' }
    ])('$kind: $uri', async ({ kind, uri }) => {
      const answer = await tryRedirectUri(kind, uri)
      expect(answer.statusCode).toBe(303)
      const separator = uri.includes('?') ? '&' : '?'
      expect(answer.headers.location).toMatch(/&state=a\+state&iss=http%3A%2F%2Flocalhost%3A4000$/)
      expect(answer.headers.location?.slice(0, answer.headers.location.indexOf('error='))).toBe(uri + separator)
    })
  })
})
