import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TRACE_HEADERS, traced, tracesOf } from '../../../support/audit-traces.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { newApp, OFFERED } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { behindTracingProxy } from '../../../support/traced-server.js'

const SETTINGS = { DEVELOPER_APPS: 'open', TRUSTED_PROXIES: '127.0.0.1' }

let direct: TestServer
let server: TestServer

beforeAll(async () => {
  direct = await startTestServer(SETTINGS)
  server = behindTracingProxy(direct, TRACE_HEADERS)
  await server.createUser('alice', PASSWORD)
  await server.createScope(OFFERED, { isSelfService: true })
})
afterAll(() => direct.close())

test('the audit event of an app that a user registers has the trace id', async () => {
  const browser = await signedInBrowser(server)
  expect(await tracesOf(server, () => newApp(server, browser))).toMatchObject(traced('app_registered'))
})
