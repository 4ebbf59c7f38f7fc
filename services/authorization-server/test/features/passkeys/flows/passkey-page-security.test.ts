import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { authorizeUrl, PASSWORD } from '../../../support/flow.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

test('the scripts of the sign-in page may send requests to us, and to no other site', async () => {
  const url = authorizeUrl((await server.createClient()).clientId)
  const browser = server.newBrowser()
  const login = await browser.open(url)
  const answers = [
    await server.newBrowser().open(`${ISSUER}/login`),
    await server.publicServer.inject({ method: 'HEAD', url: '/login' }),
    login,
    await browser.submitOnly(login, { username: 'alice', password: 'wrong' })
  ]
  const policies = answers.map(({ headers }) => String(headers['content-security-policy']))
  const [start, end] = [
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; ",
    "base-uri 'none'; frame-ancestors 'none'"
  ]
  const own = `${start}form-action 'self'; ${end}`
  expect(policies).toEqual([own, own, start + end, start + end])
})

test('at an IP address, which has no passkeys, they may not (WebAuthn Level 3 §5.1.3)', async () => {
  const issuer = 'http://127.0.0.1:4000'
  const other = await startTestServer({ ISSUER: issuer })
  const { headers } = await other.newBrowser().open(`${issuer}/login`)
  await other.close()
  expect(headers['content-security-policy']).toContain("script-src 'self'; style-src")
})
