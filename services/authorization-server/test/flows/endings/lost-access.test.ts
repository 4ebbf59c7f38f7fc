import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { auditRows } from '../../support/audit-rows.js'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, exchange, obtainCode, PASSWORD, refresh, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'
import { introspectionOf, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const REPORTS = 'https://reports.example'

let server: TestServer
let client: Credentials
let files: Credentials
let first: string
let second: string
let number = 0

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  files = await server.createResourceServer()
  await server.createResourceServer(REPORTS)
})
beforeEach(async () => {
  number += 1
  first = `first-${number}`
  second = `second-${number}`
  for (const name of [first, second]) await server.createScope(name)
  client = await server.createClient({ requiredScopes: [first, second] })
})
afterAll(() => server.close())

async function run(...args: string[]): Promise<void> {
  const { code, said } = await runCommand(server.database, args)
  if (code !== 0) throw new Error(said)
}

const both = () => ({ scope: `${first} ${second}` })
const obtain = (by = client) => obtainTokens(server, by, both())
const scopeIn = (answer: LightMyRequestResponse) => pairOf(answer).scope
const introspected = async ({ access_token: token }: Tokens, by = files) => {
  const answer = await introspectionOf(server, by, token)
  return answer.active ? answer.scope : 'inactive'
}
const keepOnly = (scope: string) => run('clients', 'update', client.clientId, '--scope', scope)
const deleteScope = (name: string) => run('scopes', 'delete', name, '--from-clients', '--yes')
const createScope = (name: string) => run('scopes', 'create', name, '--title', 'Another meaning')

type Loss = { name: string; lose(): Promise<void> }

const LOSSES: Loss[] = [
  { name: 'an operator took the scope from the client', lose: () => keepOnly(first) },
  { name: 'an operator deleted the scope', lose: () => deleteScope(second) },
  {
    name: 'the scope was deleted and created again, and the client has the new one',
    async lose() {
      await deleteScope(second)
      await createScope(second)
      await run('clients', 'update', client.clientId, '--scope', `${first} ${second}`)
    }
  },
  { name: 'the scope moved to another API', lose: () => run('scopes', 'update', second, '--resource', REPORTS) },
  {
    name: 'the scope moved to another API and back',
    async lose() {
      await run('scopes', 'update', second, '--resource', REPORTS)
      await run('scopes', 'update', second, '--resource', '')
    }
  }
]

describe.each(LOSSES)('$name', ({ lose }) => {
  test('a refresh and introspection have only the other scope (RFC 6749 §6)', async () => {
    const tokens = await obtain()
    await lose()
    expect(await introspected(tokens)).toBe(first)
    const refreshed = pairOf(await refresh(server, client, tokens.refresh_token))
    expect([refreshed.scope, await introspected(refreshed)]).toEqual([first, first])
  })

  test('the exchange has only the other scope, and so has a refresh after it', async () => {
    const code = await obtainCode(server, client, { change: both() })
    await lose()
    const tokens = pairOf(await exchange(server, client, code))
    expect([tokens.scope, await introspected(tokens)]).toEqual([first, first])
    expect(scopeIn(await refresh(server, client, tokens.refresh_token))).toBe(first)
  })

  test('the repeated response of a refresh does not have the scope', async () => {
    const tokens = await obtain()
    const rotated = pairOf(await refresh(server, client, tokens.refresh_token))
    await lose()
    const repeated = pairOf(await refresh(server, client, tokens.refresh_token))
    expect([repeated.access_token, repeated.scope]).toEqual([rotated.access_token, first])
  })

  test('a refresh may still name both scopes, and must not ask for the lost one alone', async () => {
    const { refresh_token: token } = await obtain()
    await lose()
    expect((await refresh(server, client, token, { scope: second })).json().error).toBe('invalid_scope')
    expect(scopeIn(await refresh(server, client, token, both()))).toBe(first)
  })

  test('a grant for this scope only ends at its refresh, and a code for it gives no tokens', async () => {
    const tokens = await obtainTokens(server, client, { scope: second })
    const code = await obtainCode(server, client, { change: { scope: second } })
    await lose()
    expect(await introspected(tokens)).toBe('inactive')
    expect((await exchange(server, client, code)).json().error).toBe('invalid_grant')
    expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
    expect((await auditRows(server)).slice(-2)).toMatchObject([
      { event: 'grant_ended', client_id: client.clientId, details: { reason: 'no_scope_left' } },
      { event: 'request_refused', details: { reason: 'refresh_token_no_scope_left' } }
    ])
    const again = await refresh(server, client, tokens.refresh_token)
    expect(again.json().error).toBe('invalid_grant')
    expect((await auditRows(server)).at(-1)?.details).toMatchObject({ reason: 'refresh_token_grant_ended' })
  })

  test('the pages of the user and the list of operators do not show it', async () => {
    await obtain()
    await lose()
    const page = await (await signedInBrowser(server)).open(`${ISSUER}/account/apps`)
    expect(visibleText(page.body)).toContain(first)
    expect(visibleText(page.body)).not.toContain(second)
    const { out } = await runCommand(server.database, ['grants', 'list', '--client', client.clientId, '--json'])
    expect(JSON.parse(out)).toMatchObject({ grants: [{ scope: first }] })
  })
})

describe('APIs', () => {
  const limitTo = (...audiences: string[]) =>
    run('clients', 'update', client.clientId, ...audiences.flatMap((each) => ['--resource', each]))

  test('a client that an operator limits to another API has no access any more', async () => {
    const tokens = await obtain()
    const code = await obtainCode(server, client, { change: both() })
    await run('scopes', 'create', `report-${number}`, '--title', 'Reports', '--resource', REPORTS)
    await run('clients', 'update', client.clientId, '--scope', `${first} ${second} report-${number}`)
    await limitTo(REPORTS)
    expect(await introspected(tokens)).toBe('inactive')
    expect((await exchange(server, client, code)).json().error).toBe('invalid_grant')
    expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
  })

  test('a client that is limited to the API of the grant keeps its access', async () => {
    const tokens = await obtain()
    await limitTo(AUDIENCE)
    expect(await introspected(tokens)).toBe(tokens.scope)
    expect(scopeIn(await refresh(server, client, tokens.refresh_token))).toBe(tokens.scope)
  })

  test.each(['deleted', 'deleted and registered again'])('an API that is %s: its scopes are lost', async (what) => {
    const audience = `https://api-${what.length}.example`
    const api = await server.createResourceServer(audience)
    await run('scopes', 'create', `api-${number}`, '--title', 'API', '--resource', audience)
    await run('clients', 'update', client.clientId, '--scope', `${first} ${second} api-${number}`)
    const tokens = await obtainTokens(server, client, { scope: `api-${number}` })
    const other = await server.createResourceServer(audience)
    await run('resource-servers', 'delete', api.clientId, '--yes')
    expect(await introspected(tokens, other)).toBe(tokens.scope)
    await run('resource-servers', 'delete', other.clientId, '--yes')
    const again = what === 'deleted' ? undefined : await server.createResourceServer(audience)
    if (again) expect(await introspected(tokens, again)).toBe('inactive')
    expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
  })
})

test('a scope that an operator gives back counts again', async () => {
  const tokens = await obtain()
  await keepOnly(first)
  expect(await introspected(tokens)).toBe(first)
  await run('clients', 'update', client.clientId, '--scope', `${first} ${second}`)
  expect(await introspected(tokens)).toBe(tokens.scope)
  expect(scopeIn(await refresh(server, client, tokens.refresh_token))).toBe(tokens.scope)
})

test('a scope that became optional, or has other texts, counts', async () => {
  const tokens = await obtain()
  await run('clients', 'update', client.clientId, '--scope', first, '--optional-scope', second)
  await run('scopes', 'update', second, '--title', 'Better words')
  expect(await introspected(tokens)).toBe(tokens.scope)
})

test('a consent page that was open while the scope was created again is shown again', async () => {
  const { browser, page } = await openConsent(server, client.clientId, { change: both() })
  await deleteScope(second)
  await createScope(second)
  await run('clients', 'update', client.clientId, '--scope', `${first} ${second}`)
  const answer = await browser.submit(page, { decision: 'allow' })
  expect([answer.statusCode, new URL(answer.url).pathname]).toEqual([200, '/consent'])
  const { code = '' } = responseParameters(await browser.submitOnly(answer, { decision: 'allow' }))
  expect(scopeIn(await exchange(server, client, code))).toBe(`${first} ${second}`)
})

test('a consent to a scope that was created again is not remembered, also after an Allow of another scope', async () => {
  const { clientId } = await server.createClient({ requiredScopes: [first, second], consent: 'remember' })
  const browser = await signedInBrowser(server)
  const ask = async (scope: string) => {
    const page = await browser.open(authorizeUrl(clientId, { scope }))
    const wasAsked = new URL(page.url).pathname === '/consent'
    if (wasAsked) await browser.submitOnly(page, { decision: 'allow' })
    return wasAsked
  }
  expect([await ask(`${first} ${second}`), await ask(second)]).toEqual([true, false])
  // Without the command, which would also remove the scope from remembered consents.
  const text = 'delete from scopes where name = $1'
  await server.database.query({ name: 'test_delete_scope', text, values: [second] })
  await server.createScope(second)
  await server.createScope(`third-${number}`)
  await run('clients', 'update', clientId, '--scope', `${first} ${second} third-${number}`)
  expect([await ask(`third-${number}`), await ask(first), await ask(second), await ask(second)]).toEqual([
    true,
    false,
    true,
    false
  ])
})
