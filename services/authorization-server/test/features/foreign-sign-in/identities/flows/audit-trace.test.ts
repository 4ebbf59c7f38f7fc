import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TRACE_HEADERS, TRACE_WORDS, traced, tracesOf } from '../../../../support/audit-traces.js'
import { ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { PASSWORD } from '../../../../support/flow.js'
import { HANDOFF, passHandoff, startHandoff } from '../../../../support/handoff.js'
import { fromForm, signedInBrowser } from '../../../../support/pages.js'
import { behindTracingProxy } from '../../../../support/traced-server.js'

const SETTINGS = { ...HANDOFF, LOGIN_HANDOFF_PROVISIONING: 'create', TRUSTED_PROXIES: '127.0.0.1' }

let direct: TestServer
let server: TestServer

beforeAll(async () => {
  direct = await startTestServer(SETTINGS)
  server = behindTracingProxy(direct, TRACE_HEADERS)
  await server.createUser('alice', PASSWORD)
})
afterAll(() => direct.close())

describe('the audit events of a sign-in elsewhere have the trace id', () => {
  test('a user whom a login page creates; the login page gets no trace', async () => {
    const start = await startHandoff(server.newBrowser())
    expect(start.href).not.toMatch(TRACE_WORDS)
    const events = await tracesOf(server, () =>
      passHandoff(server.newBrowser(), { sub: 'created', preferred_username: 'bob' })
    )
    expect(events).toEqual(traced('user_created', 'sign_in_succeeded'))
  })

  test('an identity that a user links and unlinks', async () => {
    const browser = await signedInBrowser(server)
    const events = await tracesOf(server, async () => {
      await browser.submit(await passHandoff(browser, { sub: 'linked' }, `${ISSUER}/login/handoff?purpose=link`), {})
      const page = await browser.open(`${ISSUER}/account/sign-ins`)
      await browser.submit(fromForm(page, '/account/sign-ins/unlink'), {})
    })
    expect(events).toMatchObject(traced('identity_linked', 'identity_unlinked'))
  })
})
