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

describe('the audience of a token (RFC 8707 2)', () => {
  test('without resource it is RESOURCE_URL', async () => {
    expect(await audOf(files, filesTokens)).toBe(AUDIENCE)
  })

  test('RESOURCE_URL by name is the same', async () => {
    const tokens = await obtainTokens(server, client, { resource: AUDIENCE })
    expect(await audOf(files, tokens)).toBe(AUDIENCE)
  })

  test('an empty resource counts as absent', async () => {
    expect(await audOf(files, await obtainTokens(server, client, { resource: '' }))).toBe(AUDIENCE)
  })

  test('the resource of the authorization request, byte for byte', async () => {
    expect(await audOf(reports, reportsTokens)).toBe(REPORTS)
  })

  test('a caller of another audience gets exactly {"active":false}, either way round (RFC 7662 2.2)', async () => {
    expect((await introspect(server, files, reportsTokens.access_token)).body).toBe('{"active":false}')
    expect((await introspect(server, reports, filesTokens.access_token)).body).toBe('{"active":false}')
  })

  test('a refresh keeps it, with the resource named or not', async () => {
    const second = pairOf(await refresh(server, client, reportsTokens.refresh_token))
    const third = pairOf(await refresh(server, client, second.refresh_token, { resource: REPORTS }))
    expect([await audOf(reports, second), await audOf(reports, third)]).toEqual([REPORTS, REPORTS])
    const refused = await refresh(server, client, third.refresh_token, { resource: AUDIENCE })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_target'])
  })

  test('the exchange may name it again, and no other (RFC 8707 2.2)', async () => {
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
  ])('%s is not registered: invalid_target at the authorization endpoint', async (resource) => {
    const answer = await server.newBrowser().get(authorizeUrl(client.clientId, { resource }))
    expect(String(answer.headers.location)).toMatch(new RegExp(`^${REDIRECT_URI}\\?`))
    expect(responseParameters(answer).error).toBe('invalid_target')
  })

  test('two resources are refused', async () => {
    const url = `${authorizeUrl(client.clientId, { resource: REPORTS })}&resource=${encodeURIComponent(AUDIENCE)}`
    const { error } = responseParameters(await server.newBrowser().get(url))
    expect(['invalid_request', 'invalid_target']).toContain(error)
  })
})
