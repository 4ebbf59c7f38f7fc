import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { type RegisteredApp, registerApp } from '../support/registered-app.js'
import { type ReportsApi, startReportsApi } from '../support/reports-api.js'
import { listFiles } from '../support/resource.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { StackWorld } from './use-stack.js'

const RESOURCE = 'https://reports.example'
const SCOPES = ['reports.read', 'reports.count']
let stack: Stack
let at: Addresses
let app: RegisteredApp
let reports: ReportsApi

async function newToken(parameters: Record<string, string>): Promise<string> {
  const answer = await simulateUser(at.issuer, at).decide(new URL(app.request(parameters)), 'allow')
  return (await app.redeem(answer.searchParams)).accessToken
}

export function reportsApi(world: StackWorld): void {
  beforeAll(async () => {
    ;({ stack, at } = world)
    const credential = await stack.valetkey(['resource-servers', 'create', '--name', 'reports', '--audience', RESOURCE])
    for (const scope of SCOPES)
      await stack.valetkey(['scopes', 'create', scope, '--title', 'See your reports', '--resource', 'reports'])
    const scope = `${SCOPES.join(' ')} files.read`
    app = await registerApp(stack, at, { name: 'Report Reader', redirectUri: 'https://reader.example/callback', scope })
    const { client_id: clientId = '', client_secret: clientSecret = '' } = credential
    reports = await startReportsApi(at, RESOURCE, { clientId, clientSecret })
  })
  afterAll(() => reports?.stop())

  test("a token for this API gives access to the user's reports, and is refused at the files API (RFC 8707)", async () => {
    const token = await newToken({ scope: 'reports.read reports.count', resource: RESOURCE })
    expect(await reports.get(token)).toMatchObject({
      status: 200,
      body: { owner: expect.stringMatching(/./), reports: [{ title: 'October' }, { title: 'November' }] }
    })
    expect(await listFiles(at.resourceUrl, token)).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"')
    })
  })

  test('a token for the files API is refused at this API, and accepted at the files API (RFC 8707)', async () => {
    const token = await newToken({ scope: 'files.read' })
    expect(await reports.get(token)).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"')
    })
    expect((await listFiles(at.resourceUrl, token)).status).toBe(200)
  })

  test('a token with another scope is refused: 403 with the required scope (RFC 6750 §3.1)', async () => {
    const token = await newToken({ scope: 'reports.count' })
    expect(await reports.get(token)).toMatchObject({
      status: 403,
      challenge: expect.stringMatching(/scope="reports\.read".*error="insufficient_scope"/)
    })
  })

  test('no token: 401 with the location of the metadata (RFC 9728)', async () => {
    expect(await reports.get()).toMatchObject({
      status: 401,
      challenge: expect.stringContaining(`resource_metadata="${RESOURCE}/.well-known/oauth-protected-resource"`)
    })
  })

  test('a revoked token is refused at the next request (RFC 7009)', async () => {
    const token = await newToken({ scope: 'reports.read', resource: `${RESOURCE}/` })
    expect((await reports.get(token)).status).toBe(200)
    await app.revoke(token)
    expect((await reports.get(token)).status).toBe(401)
  })
}
