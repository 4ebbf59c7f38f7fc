import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { PasswordQueueFull } from '../../../src/platform/passwords/password-queue.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { actorOf, ownAppDeps, registerApp, releaseScope } from '../../support/developer-apps.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { HANDOFF } from '../../support/handoff.js'
import { collectLog } from '../../support/log-lines.js'
import { hiddenField } from '../../support/page-content.js'
import { postTo, signedInBrowser } from '../../support/pages.js'
import { providerSetting, providersSetting } from '../../support/provider-sign-in.js'

/** Every parameter that a page or endpoint reads, except a new password; each request sends all of them. */
const NAMES = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
  'ui_locales',
  'resume',
  'again',
  'done',
  'problem',
  'page',
  'purpose',
  'token',
  'proposal',
  'code',
  'iss',
  'error',
  'error_description',
  'assertion',
  'request',
  'username',
  'password',
  'response',
  'decision',
  'answer_key',
  'question',
  'session',
  'issuer',
  'subject',
  'passkey_id',
  'name',
  'current_password',
  'end_access',
  'everywhere',
  'at_provider',
  'user_id',
  'secret_id',
  'known_secrets',
  'answer',
  'transfers',
  'grant_type',
  'code_verifier',
  'refresh_token',
  'client_secret',
  'token_type_hint',
  'logout_token',
  'type',
  'redirect_uris',
  'home_page',
  'publisher',
  'version'
]

/** The values as they are encoded in an address or a form. */
const VALUES = [
  'x',
  '0',
  '-1',
  '9'.repeat(40),
  '%00',
  '%0d%0a',
  '%ff%fe',
  '%ed%a0%80',
  '%',
  '%u0041',
  '%F0%9F%94%91',
  '%C3%A9',
  '%22%27%5C%3B--',
  '%7B%7D',
  '%5B%5D',
  'null',
  '__proto__',
  'x'.repeat(2_000),
  '%3Cscript%3E',
  'A'.repeat(43),
  '00000000-0000-0000-0000-000000000000',
  'https://%5B',
  'http://127.0.0.1:99999/',
  'javascript:alert(1)',
  '..%2f..'
]

const log = collectLog()
let server: TestServer
let client: Credentials
let alice: Browser
let appId: string

beforeAll(async () => {
  const provider = { issuer: 'http://127.0.0.1:1', id: 'down' }
  const settings = { ...HANDOFF, ...providersSetting(providerSetting(provider, { id: 'down' })) }
  const features = { DEVELOPER_APPS: 'open', CLIENT_ID_METADATA: 'open', LIMITS_FACTOR: '90' }
  server = await startTestServer({ ...settings, ...features }, log.logger)
  const userId = await server.createUser('alice', PASSWORD)
  await releaseScope(server, 'notes.read')
  appId = (await registerApp(actorOf({ userId, username: 'alice' }), ownAppDeps(server, 'open'))).clientId
  client = await server.createClient()
  alice = await signedInBrowser(server)
})
beforeEach(() => {
  log.lines.length = 0
})
afterAll(() => server?.close())

/** Routes that leave for the provider, which is down: an outage, which no stranger causes. */
const OUTAGES = ['/login/with/down', '/login/with/down/logout']

/** All routes of the public listener, from the tree that Fastify prints: each level is indented by four characters. */
function routes(): { method: 'GET' | 'POST'; path: string }[] {
  const parts: string[] = []
  return server.publicServer
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^(.*)── (\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
      if (part === '') return []
      parts.splice(Math.floor(indent.length / 4), parts.length, part)
      const path = parts.join('')
      const used = (['GET', 'POST'] as const).filter((method) => methods.split(', ').includes(method))
      return OUTAGES.includes(path) ? [] : used.map((method) => ({ method, path }))
    })
}

const allOf = (value: string) => NAMES.map((name) => `${name}=${value}`).join('&')
const pathOf = (path: string, value: string) => path.replace(/:\w+|\*/g, value)

type Answered = { request: string; status: number }

async function sendAll(send: (path: string, value: string, method: 'GET' | 'POST') => Promise<Page['statusCode']>) {
  const failed: Answered[] = []
  for (const { method, path } of routes()) {
    for (const value of VALUES) {
      const status = await send(path, value, method)
      if (status >= 500) failed.push({ request: `${method} ${path} ${value}`, status })
    }
  }
  return failed
}

const errors = () => log.lines.filter(({ level }) => level === 'error' || level === 'fatal')

describe('a request with hostile parameters is never a 5xx and never an error in the log', () => {
  test('finds the routes', () => {
    const paths = routes().map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/oauth/authorize', '/token', '/login', '/account/apps']))
    expect(paths.length).toBeGreaterThan(40)
  })

  test('of an anonymous browser', async () => {
    const failed = await sendAll(async (path, value, method) => {
      const url = `${ISSUER}${pathOf(path, value)}?${allOf(value)}`
      if (method === 'GET') return (await server.newBrowser().get(url)).statusCode
      return (await postTo(server, { cookies: new Map() }, url, allOf(value), { origin: ISSUER })).statusCode
    })
    expect([failed, errors()]).toEqual([[], []])
  })

  /** Their forms end the session or the app. */
  const ENDS = /\/(?:logout|end-others|delete|disable)$/

  test('of a signed-in user, with a valid CSRF token, an app of the user and a valid authorization request', async () => {
    const search = new URL(authorizeUrl(client.clientId)).search
    const token = hiddenField((await alice.open(`${ISSUER}/account/apps`)).body, 'csrf_token')
    const headers = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
    const failed = await sendAll(async (path, value, method) => {
      const url = `${ISSUER}${pathOf(path.replace(':id', appId), value)}${search}`
      if (method === 'GET') return (await alice.get(`${url}&${allOf(value)}`)).statusCode
      if (ENDS.test(path)) return 200
      return (await postTo(server, alice, url, `csrf_token=${token}&${allOf(value)}`, headers)).statusCode
    })
    expect([failed, errors()]).toEqual([[], []])
    expect((await alice.get(`${ISSUER}/account/developer/apps/${appId}`)).statusCode).toBe(200)
  })

  test.each([
    'application/json',
    'text/plain',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'nonsense',
    '/',
    'application/x-www-form-urlencoded; charset=utf-16',
    'multipart/form-data; boundary='
  ])('with a body of type %s', async (type) => {
    const failed: Answered[] = []
    for (const { path } of routes().filter(({ method }) => method === 'POST')) {
      for (const body of ['', 'x', '{', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n', '--x--']) {
        const url = `${ISSUER}${pathOf(path, 'x')}`
        const answer = await postTo(server, alice, url, body, { origin: ISSUER, 'content-type': type })
        if (answer.statusCode >= 500) failed.push({ request: `${path} ${body}`, status: answer.statusCode })
      }
    }
    expect([failed, errors()]).toEqual([[], []])
  })
})

test('a sign-in while too many passwords wait is 503, and no 5xx for the alert, because strangers can fill the queue', async () => {
  const { signIn } = server.deps.login
  const { passwordQueue } = signIn
  signIn.passwordQueue = { ...passwordQueue, run: async () => Promise.reject(new PasswordQueueFull()) }
  const browser = server.newBrowser()
  const answer = await browser.submit(await browser.open(`${ISSUER}/login`), { username: 'alice', password: PASSWORD })
  signIn.passwordQueue = passwordQueue
  expect([answer.statusCode, errors()]).toEqual([503, []])
  expect(await server.deps.watched.metrics.expose()).not.toMatch(/route="\/login".*status="5xx"/)
})
