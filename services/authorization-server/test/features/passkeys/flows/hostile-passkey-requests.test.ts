import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { sendAsAnonymous, sendAsUser } from '../../../support/hostile-requests.js'
import { collectLog } from '../../../support/log-lines.js'
import { registeredRoutes } from '../../../support/registered-routes.js'
import { userWithPasskey } from '../support/passkeys.js'

const log = collectLog()
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '90' }, log.logger)
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server?.close())

test('a hostile request to a page of passkeys is never a 5xx and never an error in the log', async () => {
  const { clientId } = await server.createClient()
  const { browser } = await userWithPasskey(server)
  const routes = registeredRoutes(server).filter(({ path }) => /^\/(?:account|login)\/passkey/.test(path))
  expect(routes.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/login/passkey', '/account/passkeys', '/account/passkeys/remove'])
  )
  const requests = { routes, parameters: ['passkey_id'] }
  expect(await sendAsAnonymous(server, requests)).toEqual([])
  expect(await sendAsUser(server, { ...requests, browser, clientId })).toEqual([])
  expect(log.lines.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
  expect((await browser.get(`${ISSUER}/account/passkeys`)).statusCode).toBe(200)
})
