import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl } from '../../support/flow.js'
import { overTheWire, type RawAnswer, type RawSend } from '../../support/over-the-wire.js'
import { otherAddressesOn, visibleText } from '../../support/page-content.js'

const REGISTERED = {
  web: ['https://app.example/callback', 'https://app.example/with?tenant=a%2Fb&x=1'],
  loopback: ['http://127.0.0.1/cb', 'http://[::1]:8000/cb?x=1', 'https://localhost:9000/cb', 'https://127.0.0.1/tls'],
  localhost: ['http://localhost:5000/cb'],
  app: ['com.example.app:/cb']
} as const

type Kind = keyof typeof REGISTERED

let server: TestServer
let send: RawSend
const clientIds = new Map<Kind, string>()

beforeAll(async () => {
  server = await startTestServer()
  send = await overTheWire(server.publicServer)
  for (const [kind, redirectUris] of Object.entries(REGISTERED)) {
    clientIds.set(kind as Kind, (await server.createClient({ redirectUris })).clientId)
  }
})
afterAll(() => server.close())

/** With another fault in the request, the error is sent to a redirect URI that passes. */
async function tryRedirectUri(kind: Kind, redirectUri: string): Promise<RawAnswer> {
  const change = { redirect_uri: redirectUri, response_type: 'token' }
  const url = authorizeUrl(clientIds.get(kind) ?? '', change)
  return send(url.slice(ISSUER.length), { headers: { accept: 'text/html' } })
}

const refused: Readonly<Record<Kind, readonly string[]>> = {
  web: [
    // path
    'https://app.example/callback/',
    'https://app.example/',
    'https://app.example',
    'https://app.example/callback/more',
    'https://app.example//callback',
    'https://app.example/Callback',
    'https://app.example/call',
    'https://app.example/callback.evil',
    'https://app.example/callback;x=1',
    // dot segments
    'https://app.example/./callback',
    'https://app.example/x/../callback',
    'https://app.example/callback/.',
    'https://app.example/callback/../../evil',
    'https://app.example/callback/%2e%2e/evil',
    // percent-encoding
    'https://app.example/%63allback',
    'https://app.example/callbac%6B',
    'https://%61pp.example/callback',
    'https://app.example%2Fcallback',
    'https://app.example/callback%00',
    'https://app.example/callback%20',
    // query
    'https://app.example/callback?',
    'https://app.example/callback?x=1',
    'https://app.example/callback&x=1',
    'https://app.example/with',
    'https://app.example/with?tenant=a/b&x=1',
    'https://app.example/with?tenant=a%2fb&x=1',
    'https://app.example/with?x=1&tenant=a%2Fb',
    'https://app.example/with?tenant=a%2Fb&x=1&x=1',
    // fragment
    'https://app.example/callback#',
    'https://app.example/callback#fragment',
    'https://app.example/callback#@evil.example',
    // scheme
    'http://app.example/callback',
    'HTTPS://app.example/callback',
    'https:app.example/callback',
    'https:/app.example/callback',
    'https:///app.example/callback',
    '//app.example/callback',
    '/callback',
    'callback',
    'app.example/callback',
    'javascript:alert(1)',
    'javascript://app.example/callback',
    'data:text/html,evil',
    'urn:ietf:wg:oauth:2.0:oob',
    // host
    'https://APP.example/callback',
    'https://app.example./callback',
    'https://evil.app.example/callback',
    'https://app.example.evil.example/callback',
    'https://evil.example/callback',
    'https://evil.example/https://app.example/callback',
    'https://*.example/callback',
    // port
    'https://app.example:443/callback',
    'https://app.example:8443/callback',
    'https://app.example:/callback',
    // userinfo
    'https://user@app.example/callback',
    'https://@app.example/callback',
    'https://:@app.example/callback',
    'https://app.example@evil.example/callback',
    'https://app.example%40evil.example/callback',
    'https://app.example:443@evil.example/callback',
    // backslash
    'https:\\\\app.example\\callback',
    'https://app.example\\callback',
    'https://evil.example\\@app.example/callback',
    'https://app.example\\@evil.example/callback',
    // look-alikes and invisible characters
    'https://аpp.example/callback',
    'https://app.exаmple/callback',
    'https://app。example/callback',
    'https://ａpp.example/callback',
    'https://app.example／callback',
    'https://app.example/callback\u200b',
    'https://app.example/callback\u202e',
    '\ufeffhttps://app.example/callback',
    ' https://app.example/callback',
    'https://app.example/callback ',
    'https://app.example/\tcallback',
    'https://app.example/callback\n',
    'https://app.example/callback\u0000',
    'https://app.example/callback\u0000.evil.example',
    // several
    'https://app.example/callback https://evil.example/',
    'https://app.example/callback,https://evil.example/'
  ],
  loopback: [
    // another way to write the address
    'http://localhost/cb',
    'http://[::1]/cb',
    'http://127.0.0.1./cb',
    'http://127.0.0.2/cb',
    'http://127.1/cb',
    'http://2130706433/cb',
    'http://0x7f.0.0.1/cb',
    'http://0177.0.0.1/cb',
    'http://0.0.0.0/cb',
    'http://[::ffff:127.0.0.1]:5000/cb?x=1',
    'http://[0:0:0:0:0:0:0:1]:5000/cb?x=1',
    'http://[::1%25lo]:5000/cb?x=1',
    'http://１27.0.0.1/cb',
    'HTTP://127.0.0.1:5000/cb',
    // https is compared to the letter, the port included
    'https://127.0.0.1/cb',
    'https://127.0.0.1:5000/tls',
    'https://localhost:9001/cb',
    'https://localhost/cb',
    'http://localhost:9000/cb',
    // what is no port
    'http://127.0.0.1:/cb',
    'http://127.0.0.1:0/cb',
    'http://127.0.0.1:080/cb',
    'http://127.0.0.1:65536/cb',
    'http://127.0.0.1:99999/cb',
    'http://127.0.0.1:100000/cb',
    'http://127.0.0.1:+80/cb',
    'http://127.0.0.1:-1/cb',
    'http://127.0.0.1:5000a/cb',
    'http://127.0.0.1: 5000/cb',
    'http://127.0.0.1:٨٠/cb',
    // another host behind it
    'http://127.0.0.1:5000@evil.example/cb',
    'http://127.0.0.1@evil.example/cb',
    'http://127.0.0.1:80\\@evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://127.0.0.1:5000.evil.example/cb',
    'http://user@127.0.0.1:5000/cb',
    // anything else that differs beside the port
    'http://127.0.0.1:5000/cb/',
    'http://127.0.0.1:5000/',
    'http://127.0.0.1:5000',
    'http://127.0.0.1:5000/cb?x=1',
    'http://127.0.0.1:5000/cb#x',
    'http://127.0.0.1:5000/x/../cb',
    'http://127.0.0.1:5000/%63b',
    'http://127.0.0.1:5000\\cb',
    'http://127.0.0.1:5000/cb\n',
    'http://[::1]:5000/cb',
    'http://[::1]:5000/cb?x=2'
  ],
  localhost: [
    'http://127.0.0.1:5000/cb',
    'http://[::1]:5000/cb',
    'http://LOCALHOST:5000/cb',
    'http://localhost.:5000/cb',
    'http://localhost.evil.example:5000/cb',
    'http://foo.localhost:5000/cb',
    'http://localhost@evil.example/cb',
    'https://localhost:5000/cb'
  ],
  app: [
    'com.example.app:/cb/',
    'com.example.app:cb',
    'com.example.app://cb',
    'com.example.app:///cb',
    'COM.EXAMPLE.APP:/cb',
    'com.example.app:/CB',
    'com.example.app:/cb?x=1',
    'com.example.app2:/cb',
    'com.example:/cb'
  ]
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
