import { beforeAll, describe, expect, test } from '@jest/globals'
import { requestOf, useDiscovery } from '../../features/client-documents/support/discovery.js'
import { auditRows, clearAuditRows } from '../../support/audit-rows.js'
import { type Credentials, ISSUER, type TestServer } from '../../support/authorization-server.js'
import { newApp, OFFERED } from '../../support/developer.js'
import { authorizeUrl, basic, exchange, PASSWORD, post, responseParameters } from '../../support/flow.js'
import { HANDOFF, passHandoff, startHandoff } from '../../support/handoff.js'
import { fromForm, signedInBrowser } from '../../support/pages.js'
import { behindTracingProxy } from '../../support/traced-server.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const HEADERS = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'vendor=opaque' }

const settings = {
  ...HANDOFF,
  LOGIN_HANDOFF_PROVISIONING: 'create',
  DEVELOPER_APPS: 'open',
  TRUSTED_PROXIES: '127.0.0.1'
}
const world = useDiscovery(settings)
let server: TestServer
let client: Credentials
beforeAll(async () => {
  server = behindTracingProxy(world.server, HEADERS)
  client = await server.createClient()
  await server.createScope(OFFERED, { isSelfService: true })
})

/** The events of the requests that `act` sends, each with its trace. */
async function tracesOf(act: () => Promise<unknown>): Promise<Record<string, string | null>> {
  await clearAuditRows(server)
  await act()
  const rows = await auditRows(server)
  return Object.fromEntries(
    rows.filter(({ request_id }) => request_id !== null).map((row) => [row.event, row.trace_id])
  )
}

const traced = (...events: string[]) => Object.fromEntries(events.map((event) => [event, TRACE]))

/** A Location must not have the trace: it goes through the browser to other parties (W3C Trace Context §7). */
const TRACE_WORDS = /4bf92f35|traceparent|tracestate|opaque/

async function signInAndAllow(url: string): Promise<string> {
  const browser = server.newBrowser()
  const consent = await browser.submit(await browser.open(url), { username: 'alice', password: PASSWORD })
  const answer = await browser.submitOnly(consent, { decision: 'allow' })
  expect(JSON.stringify(answer.headers)).not.toMatch(TRACE_WORDS)
  return responseParameters(answer).code ?? ''
}

describe('each audit event of a request from a trusted proxy has its trace id', () => {
  test('from sign-in to the tokens and their refusal', async () => {
    const events = await tracesOf(async () => {
      const code = await signInAndAllow(authorizeUrl(client.clientId))
      expect((await exchange(server, client, code)).statusCode).toBe(200)
      await post(server, '/token', { grant_type: 'authorization_code' }, basic({ ...client, clientSecret: 'wrong' }))
    })
    const names = ['sign_in_succeeded', 'consent_given', 'code_issued', 'code_redeemed', 'request_refused']
    expect(events).toEqual(traced(...names))
  })

  test('a client that a document describes', async () => {
    const clientId = world.documents.publish('/traced')
    const events = await tracesOf(() => signInAndAllow(requestOf(clientId)))
    expect(events).toEqual(traced('sign_in_succeeded', 'client_discovered', 'consent_given', 'code_issued'))
  })

  test('a user whom a login page creates; the login page gets no trace', async () => {
    const start = await startHandoff(server.newBrowser())
    expect(start.href).not.toMatch(TRACE_WORDS)
    const events = await tracesOf(() => passHandoff(server.newBrowser(), { sub: 'created', preferred_username: 'bob' }))
    expect(events).toEqual(traced('user_created', 'sign_in_succeeded'))
  })

  test('an identity that a user links and unlinks', async () => {
    const browser = await signedInBrowser(server)
    const events = await tracesOf(async () => {
      await browser.submit(await passHandoff(browser, { sub: 'linked' }, `${ISSUER}/login/handoff?purpose=link`), {})
      const page = await browser.open(`${ISSUER}/account/sign-ins`)
      await browser.submit(fromForm(page, '/account/sign-ins/unlink'), {})
    })
    expect(events).toMatchObject(traced('identity_linked', 'identity_unlinked'))
  })

  test('an app that a user registers', async () => {
    const browser = await signedInBrowser(server)
    expect(await tracesOf(() => newApp(server, browser))).toMatchObject(traced('app_registered'))
  })

  test('of the internal listener, each peer', async () => {
    const events = await tracesOf(async () =>
      server.internalServer.inject({
        method: 'POST',
        url: '/introspect',
        remoteAddress: '192.0.2.9',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...HEADERS, ...basic(client) },
        payload: 'token=x'
      })
    )
    expect(events).toEqual(traced('request_refused'))
  })
})

test.each([
  { name: 'an untrusted peer', remoteAddress: '192.0.2.9', headers: HEADERS },
  {
    name: 'a trusted proxy, without traceparent',
    remoteAddress: '127.0.0.1',
    headers: { tracestate: 'vendor=opaque' }
  },
  { name: 'a trusted proxy, with an invalid one', remoteAddress: '127.0.0.1', headers: { traceparent: `00-${TRACE}` } }
])('an event of $name has no trace id', async ({ remoteAddress, headers }) => {
  const events = await tracesOf(async () =>
    world.server.publicServer.inject({ url: '/oauth/authorize', remoteAddress, headers })
  )
  expect(events).toEqual({ authorization_refused: null })
})
