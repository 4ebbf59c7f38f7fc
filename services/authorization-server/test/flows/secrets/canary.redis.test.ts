import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { codeChallengeOf } from '@valetkey/oauth-protocol'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { administerWithSecrets } from '../../support/administer-with-secrets.js'
import {
  AUDIENCE,
  COOKIES,
  type Credentials,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { Browser, type Page } from '../../support/browser.js'
import { runCommand } from '../../support/command-line.js'
import { dumpPostgres, dumpRedis } from '../../support/dump-stores.js'
import { authorizeUrl, basic, exchange, introspect, post, refresh, responseParameters } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { collectLog } from '../../support/log-lines.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'
import { createSecretRegister } from '../../support/secret-register.js'

const PASSWORD = 'canary password zW8 of alice'
const GIVEN_PASSWORD = 'canary password yT6 of bob'
const WRONG_PASSWORD = 'canary password qX3 mistyped'
const STATE = 'canary-state-hT5vNw'
const VERIFIER = `canary-verifier-${'k7'.repeat(16)}`
const WRONG_VERIFIER = `canary-verifier-${'j4'.repeat(16)}`

const log = collectLog()
/** Every secret that the flows below create or use. */
const { note, kinds, all, leaks } = createSecretRegister()
let said = ''
let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer({}, log.logger)
  note('password', PASSWORD, WRONG_PASSWORD, GIVEN_PASSWORD)
  note('state', STATE)
  note('code verifier', VERIFIER, WRONG_VERIFIER)
  await createByCommandLine()
  await administerWithSecrets(server, GIVEN_PASSWORD, note)
  const tokens = await walk(server)
  await exchangeWrongly()
  await useTokens(tokens)
  await sendUnreadable(tokens)
  await failInPostgres()
  await failInRedis()
})
afterAll(() => server.close())

async function createByCommandLine(): Promise<void> {
  const create = async (args: readonly string[], stdin?: string) => {
    const result = await runCommand(server.database, [...args, '--json'], { stdin: stdin ?? '' })
    said += result.said
    expect([result.code, result.said]).toEqual([0, ''])
    return JSON.parse(result.out)
  }
  await create(['users', 'create', 'alice', '--password-stdin'], PASSWORD)
  const registration = ['--name', 'Canary', '--redirect-uri', 'https://app.example/callback', '--scope', 'files.read']
  const made = await create(['clients', 'create', ...registration])
  client = { clientId: made.client_id, clientSecret: made.client_secret }
  note('client secret', client.clientSecret)
  const given = 'canary-secret-of-a-resource-server-01'
  note('client secret', given)
  const server1 = ['resource-servers', 'create', '--name', 'files', '--audience', AUDIENCE]
  await create([...server1, '--client-id', 'files', '--secret-stdin'], given)
  note('client secret', (await create(server1)).client_secret)
}

/** Cookies, hidden fields and ids in URLs of all responses to a browser. */
function noteBrowser(browser: Browser, ...pages: Page[]): void {
  for (const [name, value] of browser.cookies) note(`cookie ${name}`, value)
  for (const page of pages) {
    note('csrf token', ...[...page.body.matchAll(/name="csrf_token" value="([^"]+)"/g)].map(([, token]) => token))
    note('pending request id', ...[...page.body.matchAll(/resume&#x3D;([\w-]+)/g)].map(([, id]) => id))
    note('pending request id', new URL(page.url).searchParams.get('resume') ?? undefined)
  }
}

async function authorize(at: TestServer): Promise<string> {
  const browser = at.newBrowser()
  const pkce = { code_challenge: codeChallengeOf(VERIFIER), code_challenge_method: 'S256', state: STATE }
  const login = await browser.open(authorizeUrl(client.clientId, pkce))
  const refused = await browser.submitOnly(login, { username: 'alice', password: WRONG_PASSWORD })
  noteBrowser(browser, login, refused)
  const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
  noteBrowser(browser, consent)
  // A password typed as the username.
  const hasty = at.newBrowser()
  const mistyped = await hasty.submitOnly(await hasty.open(`${at.config.issuer}/login`), {
    username: PASSWORD,
    password: 'x'
  })
  expect(mistyped.statusCode).toBe(422)
  const { code = '' } = responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))
  note('code', code)
  return code
}

async function walk(at: TestServer): Promise<{ access_token: string; refresh_token: string }> {
  const code = await authorize(at)
  await exchange(at, client, code, { code_verifier: WRONG_VERIFIER })
  const tokens = (await exchange(at, client, code, { code_verifier: VERIFIER })).json()
  note('token', tokens.access_token, tokens.refresh_token)
  return tokens
}

async function exchangeWrongly(): Promise<void> {
  const code = await authorize(server)
  const wrong = { ...client, clientSecret: `${client.clientSecret.slice(0, -1)}_` }
  note('client secret', wrong.clientSecret)
  await exchange(server, wrong, code, { code_verifier: VERIFIER })
  await exchange(server, client, code, { code_verifier: VERIFIER, redirect_uri: 'https://app.example/other' })
  const spent = (await exchange(server, client, code, { code_verifier: VERIFIER })).json()
  note('token', spent.access_token, spent.refresh_token)
  await exchange(server, client, code, { code_verifier: VERIFIER })
  // Issued, and never fetched.
  await authorize(server)
}

async function useTokens(tokens: { access_token: string; refresh_token: string }): Promise<void> {
  const resourceServer = await server.createResourceServer()
  note('client secret', resourceServer.clientSecret)
  await introspect(server, resourceServer, tokens.access_token)
  await introspect(server, { ...resourceServer, clientSecret: client.clientSecret }, tokens.refresh_token)
  const second = (await refresh(server, client, tokens.refresh_token)).json()
  await refresh(server, client, tokens.refresh_token)
  const third = (await refresh(server, client, second.refresh_token)).json()
  note('token', second.access_token, second.refresh_token, third.access_token, third.refresh_token)
  await post(server, '/oauth/revoke', { token: third.access_token }, basic(client))
  await refresh(server, client, tokens.refresh_token)
  await post(server, '/oauth/revoke', { token: third.refresh_token }, basic(client))
}

/** Secrets in wrong places of requests. */
async function sendUnreadable(tokens: { access_token: string }): Promise<void> {
  const { publicServer } = server
  const query = new URLSearchParams({
    code: all('code')[0] ?? '',
    client_secret: client.clientSecret,
    state: STATE
  })
  const headers = {
    authorization: `Bearer ${tokens.access_token}`,
    cookie: `${COOKIES.session}=${tokens.access_token}`
  }
  for (const url of ['/token', '/errors/x', '/nothing', '/oauth/authorize', '/login', '/logout', '/consent'])
    for (const method of ['GET', 'POST'] as const)
      await publicServer.inject({ method, url: `${url}?${query}`, headers })
  const json = { 'content-type': 'application/json' }
  await publicServer.inject({ method: 'POST', url: '/token', headers: json, payload: { password: PASSWORD } })
  const port = await listenOnFreePort(publicServer)
  await sendRaw(port, `${rawRequest(`GET /login?${query}`, [`Authorization : Bearer ${tokens.access_token}`])}`)
  await sendRaw(port, rawRequest(`GET /%zz?${query}`, ['Connection: close']))
  await sendRaw(port, rawRequest(`POST /token?${query}`, ['Expect: something', 'Connection: close']))
}

/** Postgres quotes the refused row in its error. */
async function failInPostgres(): Promise<void> {
  for (const table of ['access_tokens', 'grants']) {
    const run = (text: string) => server.database.query({ name: `test_${text}`.slice(0, 60), text, values: [] })
    await run(`alter table ${table} add constraint canary check (false) not valid`)
    await walk(server).catch(() => {})
    await run(`alter table ${table} drop constraint canary`)
  }
  expect(log.text()).toContain('violates check constraint')
}

/** The Redis client keeps the arguments of a refused command in its error. */
async function failInRedis(): Promise<void> {
  const rights = '~* +ping +hello +info +select +client +quit'.split(' ')
  await server.redis.call('ACL', 'SETUSER', 'canary', 'on', '>canary', ...rights)
  const url = new URL(server.config.redisUrl)
  Object.assign(url, { username: 'canary', password: 'canary' })
  const redis = connectRedis(url.href)
  const instance = await startInstance({ ...server, redis }, { logger: log.logger })
  const browser = new Browser(instance.publicServer, server.config.issuer)
  await browser.get(authorizeUrl(client.clientId, { state: STATE }))
  const login = await browser.open(`${server.config.issuer}/login`)
  await browser.submitOnly(login, { username: 'alice', password: PASSWORD })
  noteBrowser(browser, login)
  const code = await authorize(server)
  await exchange(instance, client, code, { code_verifier: VERIFIER })
  expect(log.text()).toContain('NOPERM')
  await instance.close()
  redis.disconnect()
  await server.redis.call('ACL', 'DELUSER', 'canary')
}

describe('a secret is stored and logged nowhere (contract 2 "Tokens", "Pages"; 5)', () => {
  test('the flows created every kind of secret', () => {
    const counts = Object.fromEntries(kinds().map((kind) => [kind, all(kind).length]))
    expect(counts).toMatchObject({ password: 3, state: 1, 'code verifier': 2 })
    for (const [kind, least] of [
      ['client secret', 5],
      ['operator key', 3],
      ['code', 4],
      ['token', 8],
      [`cookie ${COOKIES.browser}`, 4],
      [`cookie ${COOKIES.session}`, 4],
      ['csrf token', 8],
      ['pending request id', 4]
    ] as const)
      expect([kind, (counts[kind] ?? 0) >= least]).toEqual([kind, true])
  })

  test('the log contains none of them, nor the state', () => {
    expect(log.lines.length).toBeGreaterThan(50)
    expect(leaks(log.text())).toEqual([])
  })

  test('the log contains no query, cookie header or statement text', () => {
    expect(log.text()).not.toMatch(
      /code_challenge=|redirect_uri=|client_id=|vk_session|insert into|Basic [A-Za-z0-9+/]{8}/
    )
  })

  test('Redis contains none of them', async () => {
    const dump = await dumpRedis(server)
    expect(dump).toMatch(/^vk:code:\w+ issued /m)
    expect(dump).toMatch(/^vk:code:\w+ taken /m)
    expect(leaks(dump)).toEqual([])
  })

  test('no table of Postgres contains any of them', async () => {
    await server.deps.audit.close()
    const dump = await dumpPostgres(server)
    for (const table of [
      'users',
      'sessions',
      'clients',
      'client_secrets',
      'resource_servers',
      'grants',
      'access_tokens',
      'refresh_tokens',
      'audit_events',
      'operator_keys'
    ])
      expect([table, dump[table] !== '']).toEqual([table, true])
    for (const [table, rows] of Object.entries(dump)) expect([table, leaks(rows)]).toEqual([table, []])
  })

  test('the command line writes none of them to stderr', () => {
    expect(leaks(said)).toEqual([])
  })
})
