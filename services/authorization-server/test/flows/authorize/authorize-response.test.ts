import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { ISSUER, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../support/forging-provider.js'
import { HANDOFF, insertIdentity, passHandoff } from '../../support/handoff.js'
import { overTheWire, type RawSend } from '../../support/over-the-wire.js'
import { providerSetting, providersSetting, signInWith } from '../../support/provider-sign-in.js'

const ISS = 'iss=http%3A%2F%2Flocalhost%3A4000'

let provider: ForgingProvider
let server: TestServer
let userId: string
let send: RawSend
let browser: Browser

beforeAll(async () => {
  provider = await startForgingProvider()
  server = await startTestServer({ ...HANDOFF, ...providersSetting(providerSetting(provider)) })
  send = await overTheWire(server.publicServer)
  userId = await server.createUser('alice', PASSWORD)
  browser = server.newBrowser()
  await browser.submit(await browser.open(`${ISSUER}/login`), { username: 'alice', password: PASSWORD })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

const newClient = async (...redirectUris: string[]) => (await server.createClient({ redirectUris })).clientId

/** The three kinds of responses. */
const ENDINGS: Readonly<Record<string, (url: string) => Promise<LightMyRequestResponse>>> = {
  refused: async (url) => browser.get(url.replace('response_type=code', 'response_type=token')),
  denied: async (url) => browser.submitOnly(await browser.open(url), { decision: 'deny' }),
  allowed: async (url) => browser.submitOnly(await browser.open(url), { decision: 'allow' })
}

const STATES: readonly { name: string; encoded: string; value: string | null }[] = [
  { name: 'letters', encoded: 'xyz', value: 'xyz' },
  { name: 'one character', encoded: 'x', value: 'x' },
  { name: 'a space as plus', encoded: 'a+b', value: 'a b' },
  { name: 'a space as %20', encoded: 'a%20b', value: 'a b' },
  { name: 'spaces at both ends', encoded: '+a+', value: ' a ' },
  { name: 'a plus', encoded: 'a%2Bb', value: 'a+b' },
  { name: 'an ampersand and an equals sign', encoded: 'a%26error%3Dx', value: 'a&error=x' },
  { name: 'a bare equals sign', encoded: 'a=b==', value: 'a=b==' },
  { name: 'a percent sign', encoded: '100%25', value: '100%' },
  { name: 'text that looks percent-encoded', encoded: '%252F%2541', value: '%2F%41' },
  { name: 'a hash', encoded: 'a%23b', value: 'a#b' },
  { name: 'a semicolon', encoded: 'a;b', value: 'a;b' },
  { name: 'quotes and angle brackets', encoded: '%22%3E%3Cscript%3E%27', value: '"><script>\'' },
  { name: 'JSON', encoded: '%7B%22a%22%3A%5B1%5D%7D', value: '{"a":[1]}' },
  { name: 'base64', encoded: 'YWI/Y2Q+ZQ%3D%3D', value: 'YWI/Y2Q ZQ==' },
  { name: 'a backslash', encoded: 'a%5Cb', value: 'a\\b' },
  { name: 'a URL', encoded: 'https%3A%2F%2Fapp.example%2F%3Fa%3Db%26c', value: 'https://app.example/?a=b&c' },
  { name: 'composed and decomposed letters', encoded: 'e%CC%81%C3%A9', value: 'e\u0301\u00e9' },
  { name: 'an emoji', encoded: '%F0%9F%94%91', value: '🔑' },
  { name: 'right to left', encoded: '%E2%80%AEtxt', value: '\u202etxt' },
  { name: 'unreserved characters', encoded: "-._~!*'()", value: "-._~!*'()" },
  { name: 'the name of a response parameter', encoded: 'code', value: 'code' },
  { name: 'very long', encoded: 's'.repeat(7000), value: 's'.repeat(7000) },
  { name: 'empty', encoded: '', value: null }
]

/** Consent page and code store the state; these need an encoding there, or are at the limits. */
const STORED_STATES = [
  'a space as %20',
  'text that looks percent-encoded',
  'quotes and angle brackets',
  'an emoji',
  'very long',
  'empty'
]

describe.each(Object.keys(ENDINGS))(
  'state comes back byte for byte when the request is %s (RFC 6749 4.1.2)',
  (ending) => {
    const states = STATES.filter(({ name }) => ending === 'refused' || STORED_STATES.includes(name))

    test.each(states)('$name', async ({ encoded, value }) => {
      const clientId = await newClient(REDIRECT_URI)
      const url = `${authorizeUrl(clientId, { state: undefined })}&state=${encoded}`
      const answer = await ENDINGS[ending]?.(url)
      expect(answer?.statusCode).toBe(303)
      const { searchParams } = new URL(String(answer?.headers.location))
      expect(searchParams.getAll('state')).toEqual(value === null ? [] : [value])
      expect(searchParams.getAll('iss')).toEqual([ISSUER])
      expect([...searchParams.keys()].filter((name) => name === 'error' || name === 'code')).toEqual([
        ending === 'allowed' ? 'code' : 'error'
      ])
    })
  }
)

describe('response parameters are appended to the registered redirect URI (RFC 6749 3.1.2)', () => {
  test.each([
    { registered: 'https://app.example/cb', before: 'https://app.example/cb?' },
    { registered: 'https://app.example/cb?', before: 'https://app.example/cb?' },
    { registered: 'https://app.example/cb?a=b', before: 'https://app.example/cb?a=b&' },
    { registered: 'https://app.example/cb?a=b&', before: 'https://app.example/cb?a=b&' },
    { registered: 'https://app.example/cb?a=%20+%2B&a=2&=&b', before: 'https://app.example/cb?a=%20+%2B&a=2&=&b&' },
    { registered: 'https://app.example/cb?where=/x?', before: 'https://app.example/cb?where=/x?&' },
    { registered: 'com.example.app:/cb', before: 'com.example.app:/cb?' },
    { registered: 'com.example.app:/cb?a=b', before: 'com.example.app:/cb?a=b&' },
    { registered: 'http://127.0.0.1/cb?a=b', before: 'http://127.0.0.1/cb?a=b&' }
  ])('$registered', async ({ registered, before }) => {
    const url = authorizeUrl(await newClient(registered), { redirect_uri: registered, state: 's' })
    const refused = await ENDINGS.refused?.(url)
    const denied = await ENDINGS.denied?.(url)
    const allowed = await ENDINGS.allowed?.(url)
    expect(refused?.headers.location).toBe(
      `${before}error=unsupported_response_type&error_description=The+only+response_type+is+code.` +
        `&error_uri=http%3A%2F%2Flocalhost%3A4000%2Ferrors%2Funsupported_response_type&state=s&${ISS}`
    )
    expect(denied?.headers.location).toBe(
      `${before}error=access_denied&error_description=The+user+did+not+allow+access.` +
        `&error_uri=http%3A%2F%2Flocalhost%3A4000%2Ferrors%2Faccess_denied&state=s&${ISS}`
    )
    const code = /code=(vk_ac_[0-9A-Za-z]{49})&/.exec(String(allowed?.headers.location))?.[1]
    expect(allowed?.headers.location).toBe(`${before}code=${code}&state=s&${ISS}`)
    for (const answer of [refused, denied, allowed]) expect(answer?.statusCode).toBe(303)
  })

  test('the port of the requested loopback URI is kept in the response (RFC 8252 7.3)', async () => {
    const redirectUri = 'http://127.0.0.1:51004/cb'
    const url = authorizeUrl(await newClient('http://127.0.0.1/cb'), { redirect_uri: redirectUri })
    const allowed = await ENDINGS.allowed?.(url)
    expect(allowed?.headers.location).toMatch(/^http:\/\/127\.0\.0\.1:51004\/cb\?code=vk_ac_/)
  })
})

describe('other methods and headers at /oauth/authorize', () => {
  const pathFor = async () => authorizeUrl(await newClient(REDIRECT_URI)).slice(ISSUER.length)

  test.each(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])('%s responds with 405', async (method) => {
    const answer = await send(await pathFor(), { method })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET'])
    expect(answer.headers).not.toHaveProperty('location')
    if (method !== 'HEAD') expect(JSON.parse(answer.body)).toMatchObject({ error: 'invalid_request' })
  })

  test('HEAD and POST store no pending request, grant or code', async () => {
    const before = await server.redis.dbsize()
    const rows = async () =>
      (await server.database.query({ name: 'n', text: 'select 1 from grants', values: [] })).length
    const grants = await rows()
    const path = await pathFor()
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const method of ['HEAD', 'POST']) await send(path, { method, headers: { cookie } })
    expect([await server.redis.dbsize(), await rows()]).toEqual([before, grants])
  })

  test('the same parameters in a form body are not read', async () => {
    const path = await pathFor()
    const body = path.slice(path.indexOf('?') + 1)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await send('/oauth/authorize', { method: 'POST', headers, body })).statusCode).toBe(405)
    expect((await send('/oauth/authorize', { headers })).statusCode).toBe(400)
  })

  test.each(['x-http-method-override', 'x-http-method', 'x-method-override'])('%s changes nothing', async (name) => {
    const path = await pathFor()
    expect((await send(path, { headers: { [name]: 'POST' } })).statusCode).toBe(303)
    expect((await send(path, { method: 'POST', headers: { [name]: 'GET' } })).statusCode).toBe(405)
  })

  test.each([
    { name: 'x-forwarded-host', value: 'evil.example' },
    { name: 'x-forwarded-proto', value: 'https' },
    { name: 'forwarded', value: 'host=evil.example;proto=https' },
    { name: 'host', value: 'evil.example' },
    { name: 'x-original-url', value: '/errors/invalid_request' },
    { name: 'x-rewrite-url', value: '/errors/invalid_request' }
  ])('$name does not change the host of a redirect', async ({ name, value }) => {
    const answer = await send(await pathFor(), { headers: { [name]: value } })
    expect(answer.headers.location).toMatch(/^http:\/\/localhost:4000\/login\?/)
  })

  test.each([
    ['a trailing slash', '/oauth/authorize/'],
    ['another case', '/OAuth/Authorize'],
    ['path parameters', '/oauth/authorize;jsessionid=1'],
    ['a doubled slash', '//oauth/authorize'],
    ['dot segments', '/oauth/x/../authorize']
  ])('%s is an unknown path', async (_name, path) => {
    const query = (await pathFor()).slice('/oauth/authorize'.length)
    expect((await send(path + query)).statusCode).toBe(404)
  })

  test.each(['\u00e9', '\u00ff', '\u0080'])('a raw byte outside ASCII in the query is refused (%j)', async (byte) => {
    expect((await send(`${await pathFor()}&x=${byte}`)).statusCode).toBe(400)
  })
})

/** Valetkey uses these names itself, in addresses without an authorization request. */
const OWN_NAMES = ['purpose=link', 'purpose=invitation&token=abc', 'page=password', 'done=signed_out']

describe('an accepted request with a parameter that Valetkey uses itself signs in and reaches the consent page', () => {
  let clientId: string
  beforeAll(async () => {
    clientId = await newClient(REDIRECT_URI)
    await insertIdentity(server, userId, 'alice at the login page')
  })

  test.each(OWN_NAMES)('%s, with a provider', async (appended) => {
    const query = `${new URL(authorizeUrl(clientId)).search.slice(1)}&${appended}`
    const browser = server.newBrowser()
    const page = await signInWith(provider, browser, { query })
    expect(page.headers.location).toBe(`${ISSUER}/oauth/authorize?${query}`)
    expect((await browser.open(page.headers.location ?? '')).url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with the login page', async (appended) => {
    const start = `${authorizeUrl(clientId)}&${appended}`.replace('/oauth/authorize', '/login/handoff')
    const page = await passHandoff(server.newBrowser(), { sub: 'alice at the login page' }, start)
    expect(page.url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with a password', async (appended) => {
    const browser = server.newBrowser()
    const form = await browser.open(`${authorizeUrl(clientId)}&${appended}`)
    expect(form.body).not.toContain('You are signed out')
    expect((await browser.submit(form, { username: 'alice', password: PASSWORD })).url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with prompt=login and a user who is signed in', async (appended) => {
    const browser = server.newBrowser()
    await signInWith(provider, browser)
    const url = `${authorizeUrl(clientId)}&prompt=login&${appended}`
    expect((await browser.open(url)).body).not.toContain('sign in again before you change it')
    const page = await signInWith(provider, browser, { query: new URL(url).search.slice(1) })
    expect(page.statusCode).toBe(303)
    expect((await browser.open(page.headers.location ?? '')).url).toMatch(`${ISSUER}/consent?`)
  })
})
