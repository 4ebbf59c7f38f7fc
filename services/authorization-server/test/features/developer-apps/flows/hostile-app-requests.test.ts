import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { sendAsAnonymous, sendAsUser } from '../../../support/hostile-requests.js'
import { collectLog } from '../../../support/log-lines.js'
import { signedInBrowser } from '../../../support/pages.js'
import { registeredRoutes } from '../../../support/registered-routes.js'
import { actorOf, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

const PARAMETERS = [
  'answer',
  'secret_id',
  'known_secrets',
  'user_id',
  'transfers',
  'type',
  'redirect_uris',
  'home_page',
  'publisher',
  'version'
]

const log = collectLog()
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ DEVELOPER_APPS: 'open', LIMITS_FACTOR: '90' }, log.logger)
})
afterAll(() => server?.close())

test('a hostile request to a page of an app is never a 5xx and never an error in the log', async () => {
  const userId = await server.createUser('alice', PASSWORD)
  await releaseScope(server, 'notes.read')
  const { clientId: id } = await registerApp(
    await actorOf(server, { userId, username: 'alice' }),
    ownAppDeps(server, 'open')
  )
  const { clientId } = await server.createClient()
  const browser = await signedInBrowser(server)
  const routes = registeredRoutes(server).filter(({ path }) => /^\/account\/(?:developer|logos)/.test(path))
  expect(routes.length).toBeGreaterThan(20)
  const requests = { routes, parameters: PARAMETERS }
  expect(await sendAsAnonymous(server, requests)).toEqual([])
  expect(await sendAsUser(server, { ...requests, id, browser, clientId })).toEqual([])
  expect(log.lines.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
  expect((await browser.get(`${ISSUER}/account/developer/apps/${id}`)).statusCode).toBe(200)
})
