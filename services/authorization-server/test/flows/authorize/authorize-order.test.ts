import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { authorizeUrl } from '../../support/flow.js'
import { overTheWire, type RawAnswer, type RawSend } from '../../support/over-the-wire.js'
import { otherAddressesOn, visibleText } from '../../support/page-content.js'
import { disable } from '../../support/tokens.js'

type Change = Record<string, string | undefined>

let server: TestServer
let send: RawSend
let client: Credentials
let other: Credentials
let disabled: Credentials

beforeAll(async () => {
  server = await startTestServer()
  send = await overTheWire(server.publicServer)
  client = await server.createClient()
  other = await server.createClient({ redirectUris: ['https://other.example/callback'] })
  disabled = await server.createClient()
  await disable(server, 'client', disabled.clientId)
})
afterAll(() => server.close())

/** Everything that a redirect could report is wrong as well, so that only the order keeps the redirect from happening. */
const ALL_ELSE_WRONG: Change = {
  response_type: 'token',
  scope: 'nonsense',
  code_challenge: 'short',
  resource: 'https://evil.example/'
}

async function authorize(change: Change = {}, appended = ''): Promise<RawAnswer> {
  return send(authorizeUrl(client.clientId, change).slice(ISSUER.length) + appended, {
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
    const answer = await send(`${path}&x=${filler}`, { headers: { accept: 'text/html' } })
    expect(answer.statusCode).toBe(status)
    if (status === 400) expectErrorPage(answer, 'This request is too long')
  })

  test('a query that does not fit into the request head is 431', async () => {
    const answer = await authorize({}, `&x=${'a'.repeat(17_000)}`)
    expect(answer.statusCode).toBe(431)
    expect(answer.headers['cache-control']).toBe('no-store')
  })
})
