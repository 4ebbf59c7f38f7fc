import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { PasswordQueueFull } from '../../../src/platform/passwords/password-queue.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF } from '../../support/handoff.js'
import { sendAsAnonymous, sendAsUser } from '../../support/hostile-requests.js'
import { collectLog } from '../../support/log-lines.js'
import { postTo, signedInBrowser } from '../../support/pages.js'
import { providerSetting, providersSetting } from '../../support/provider-sign-in.js'
import { registeredRoutes } from '../../support/registered-routes.js'

const log = collectLog()
let server: TestServer
let client: Credentials
let alice: Browser

beforeAll(async () => {
  const provider = { issuer: 'http://127.0.0.1:1', id: 'down' }
  const settings = { ...HANDOFF, ...providersSetting(providerSetting(provider, { id: 'down' })) }
  const features = { DEVELOPER_APPS: 'open', CLIENT_ID_METADATA: 'open', LIMITS_FACTOR: '90' }
  server = await startTestServer({ ...settings, ...features }, log.logger)
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  alice = await signedInBrowser(server)
})
beforeEach(() => {
  log.lines.length = 0
})
afterAll(() => server?.close())

/** Routes that leave for the provider, which is down: an outage, which no stranger causes. */
const OUTAGES = ['/login/with/down', '/login/with/down/logout']

const routes = () => registeredRoutes(server).filter(({ path }) => !OUTAGES.includes(path))
const errors = () => log.lines.filter(({ level }) => level === 'error' || level === 'fatal')

describe('a request with hostile parameters is never a 5xx and never an error in the log', () => {
  test('finds the routes', () => {
    const paths = routes().map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/oauth/authorize', '/token', '/login', '/account/apps']))
    expect(paths.length).toBeGreaterThan(20)
  })

  test('of an anonymous browser', async () => {
    expect([await sendAsAnonymous(server, { routes: routes() }), errors()]).toEqual([[], []])
  })

  test('of a signed-in user, with a valid CSRF token and a valid authorization request', async () => {
    const failed = await sendAsUser(server, { routes: routes(), browser: alice, clientId: client.clientId })
    expect([failed, errors()]).toEqual([[], []])
    expect((await alice.get(`${ISSUER}/account/apps`)).statusCode).toBe(200)
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
    const failed: { request: string; status: number }[] = []
    for (const { path } of routes().filter(({ method }) => method === 'POST')) {
      for (const body of ['', 'x', '{', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n', '--x--']) {
        const url = `${ISSUER}${path.replace(/:\w+|\*/g, 'x')}`
        const answer = await postTo(server, alice, url, body, { origin: ISSUER, 'content-type': type })
        if (answer.statusCode >= 500) failed.push({ request: `${path} ${body}`, status: answer.statusCode })
      }
    }
    expect([failed, errors()]).toEqual([[], []])
  })
})

test('a sign-in while too many passwords wait is 503, and no 5xx for the alert, because strangers can fill the queue', async () => {
  const { login } = server.deps
  const { passwordQueue } = login
  login.passwordQueue = { ...passwordQueue, run: async () => Promise.reject(new PasswordQueueFull()) }
  const browser = server.newBrowser()
  const answer = await browser.submit(await browser.open(`${ISSUER}/login`), { username: 'alice', password: PASSWORD })
  login.passwordQueue = passwordQueue
  expect([answer.statusCode, errors()]).toEqual([503, []])
  expect(await server.deps.watched.metrics.expose()).not.toMatch(/route="\/login".*status="5xx"/)
})
