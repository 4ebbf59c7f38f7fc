import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  AUDIENCE,
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import {
  authorizeUrl,
  exchange,
  introspect,
  obtainCode,
  PASSWORD,
  refresh,
  responseParameters
} from '../../support/flow.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const REPORTS = 'https://reports.example/v2?tenant=a'

let server: TestServer
let client: Credentials
let files: Credentials
let reports: Credentials
let filesTokens: Tokens
let reportsTokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  files = await server.createResourceServer()
  reports = await server.createResourceServer(REPORTS)
  filesTokens = await obtainTokens(server, client)
  reportsTokens = await obtainTokens(server, client, { resource: REPORTS })
})
afterAll(() => server.close())

const audOf = async (caller: Credentials, { access_token }: Tokens) =>
  (await introspect(server, caller, access_token)).json().aud

describe('audience of a token (RFC 8707 §2)', () => {
  test('without resource: RESOURCE_URL', async () => {
    expect(await audOf(files, filesTokens)).toBe(AUDIENCE)
  })

  test('resource=RESOURCE_URL: the same', async () => {
    const tokens = await obtainTokens(server, client, { resource: AUDIENCE })
    expect(await audOf(files, tokens)).toBe(AUDIENCE)
  })

  test('empty resource: counts as absent', async () => {
    expect(await audOf(files, await obtainTokens(server, client, { resource: '' }))).toBe(AUDIENCE)
  })

  test('other resource: the value of the authorization request, byte for byte', async () => {
    expect(await audOf(reports, reportsTokens)).toBe(REPORTS)
  })

  test('a caller with another audience gets exactly {"active":false}, in both directions (RFC 7662 §2.2)', async () => {
    expect((await introspect(server, files, reportsTokens.access_token)).body).toBe('{"active":false}')
    expect((await introspect(server, reports, filesTokens.access_token)).body).toBe('{"active":false}')
  })

  test('a refresh keeps the audience, with or without resource', async () => {
    const second = pairOf(await refresh(server, client, reportsTokens.refresh_token))
    const third = pairOf(await refresh(server, client, second.refresh_token, { resource: REPORTS }))
    expect([await audOf(reports, second), await audOf(reports, third)]).toEqual([REPORTS, REPORTS])
    const refused = await refresh(server, client, third.refresh_token, { resource: AUDIENCE })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_target'])
  })

  test('an exchange may repeat the resource, and refuses another one (RFC 8707 §2.2)', async () => {
    const code = await obtainCode(server, client, { change: { resource: REPORTS } })
    const refused = await exchange(server, client, code, { resource: AUDIENCE })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_target'])
    const tokens = pairOf(await exchange(server, client, code, { resource: REPORTS }))
    expect(await audOf(reports, tokens)).toBe(REPORTS)
  })

  test.each([
    'https://unknown.example',
    `${REPORTS}/`,
    'https://reports.example/v2',
    'HTTPS://reports.example/v2?tenant=a',
    'not a uri'
  ])('resource %s is not registered: invalid_target at the authorization endpoint', async (resource) => {
    const answer = await server.newBrowser().get(authorizeUrl(client.clientId, { resource }))
    expect(String(answer.headers.location)).toMatch(new RegExp(`^${REDIRECT_URI}\\?`))
    expect(responseParameters(answer).error).toBe('invalid_target')
  })

  test('two resource parameters are refused', async () => {
    const url = `${authorizeUrl(client.clientId, { resource: REPORTS })}&resource=${encodeURIComponent(AUDIENCE)}`
    const { error } = responseParameters(await server.newBrowser().get(url))
    expect(['invalid_request', 'invalid_target']).toContain(error)
  })
})
