import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pushedRequests } from '../../../../src/features/pushed-requests/pushed-requests-feature.js'
import {
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer,
  until
} from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { push, pushedAddress } from '../support/pushed-requests.js'

const PUSH_MISSING = 'This client must push its authorization requests (PAR).'

async function startServer(pushedRequests: string): Promise<{ server: TestServer; client: Credentials }> {
  const server = await startTestServer({ PUSHED_REQUESTS: pushedRequests })
  await server.createUser('alice', PASSWORD)
  return { server, client: await server.createClient() }
}

const metadataOf = async (server: TestServer) =>
  (await server.publicServer.inject('/.well-known/oauth-authorization-server')).json()

/** As this process knows the client. */
async function mustPush({ deps }: TestServer, { clientId }: Credentials): Promise<boolean> {
  return (await deps.authorize.clients.find(clientId))?.requiresPushedRequests === true
}

async function expectRefused(server: TestServer, client: Credentials): Promise<void> {
  for (const browser of [server.newBrowser(), await signedInBrowser(server)]) {
    const refused = responseParameters(await browser.open(authorizeUrl(client.clientId)))
    expect(refused).toMatchObject({ error: 'invalid_request', error_description: PUSH_MISSING, state: 'a state' })
  }
}

async function expectAccepted(server: TestServer, address: string): Promise<void> {
  const browser = await signedInBrowser(server)
  const consent = await browser.open(address)
  expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toHaveProperty('code')
}

describe('a client with require_par', () => {
  let server: TestServer
  let client: Credentials
  beforeAll(async () => {
    ;({ server, client } = await startServer('allowed'))
    const { code } = await runCommand(server.database, ['clients', 'update', client.clientId, '--require-par'])
    expect(code).toBe(0)
    await until(() => mustPush(server, client))
  })
  afterAll(() => server.close())

  test('cannot send requests by the browser', () => expectRefused(server, client))

  test('can push them', async () => expectAccepted(server, await pushedAddress(server, client)))

  test('does not change other clients', async () => {
    await expectAccepted(server, authorizeUrl((await server.createClient()).clientId))
  })

  test('can send them by the browser again with --no-require-par', async () => {
    await runCommand(server.database, ['clients', 'update', client.clientId, '--no-require-par'])
    await until(async () => !(await mustPush(server, client)))
    await expectAccepted(server, authorizeUrl(client.clientId))
  })
})

describe('PUSHED_REQUESTS=required', () => {
  let server: TestServer
  let client: Credentials
  beforeAll(async () => {
    ;({ server, client } = await startServer('required'))
  })
  afterAll(() => server.close())

  test('refuses requests of every client that come by the browser', () => expectRefused(server, client))

  test('accepts pushed ones', async () => expectAccepted(server, await pushedAddress(server, client)))

  test('is in the metadata', async () => {
    expect(await metadataOf(server)).toMatchObject({ require_pushed_authorization_requests: true })
  })
})

describe('PUSHED_REQUESTS=off', () => {
  let server: TestServer
  let client: Credentials
  beforeAll(async () => {
    ;({ server, client } = await startServer('off'))
  })
  afterAll(() => server.close())

  test('has no endpoint, and none in the metadata', async () => {
    expect((await push(server, client)).statusCode).toBe(404)
    expect(Object.keys(await metadataOf(server)).filter((name) => name.includes('pushed'))).toEqual([])
  })

  test('accepts requests by the browser', async () => expectAccepted(server, authorizeUrl(client.clientId)))

  test('refuses a request_uri of a pushed request as every other one', async () => {
    const requestUri = 'urn:ietf:params:oauth:request_uri:vk_ru_x'
    const page = await server.newBrowser().open(authorizeUrl(client.clientId, { request_uri: requestUri }))
    expect(responseParameters(page)).toMatchObject({ error: 'request_uri_not_supported', iss: ISSUER })
  })

  test('refuses a client that must push', async () => {
    await expectRefused(server, await server.createClient({ requiresPushedRequests: true }))
  })

  test('is a warning of doctor that names these clients, but no disabled one', async () => {
    const pushing = await server.createClient({ requiresPushedRequests: true })
    const disabled = await server.createClient({ requiresPushedRequests: true })
    const text = 'update clients set disabled_at = now() where client_id = $1'
    await server.database.query({ name: 'test_disable', text, values: [disabled.clientId] })
    const findings = await pushedRequests.examineRecords?.examine(server.config, server.database)
    expect(findings).toMatchObject([{ check: 'PUSHED_REQUESTS', severity: 'warning' }])
    const said = JSON.stringify(findings)
    expect(said).toContain(pushing.clientId)
    for (const other of [client, disabled]) expect(said).not.toContain(other.clientId)
  })
})
