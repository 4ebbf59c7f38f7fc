import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { startExampleLoginPage } from '../../support/example-login-page.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { HANDOFF, insertIdentity, requestIdOf, startHandoff } from '../../support/handoff.js'

const EXAMPLE = path.resolve(import.meta.dirname, '../../../../../examples/login-page')

let server: TestServer
let client: Credentials
let directory: string
let loginPage: { url: string; child: ChildProcess }

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'valetkey-login-page-'))
  ;[server, loginPage] = await Promise.all([
    startTestServer({ ...HANDOFF, LOCAL_SIGN_IN: 'false' }),
    startExampleLoginPage(directory)
  ])
  client = await server.createClient()
  await insertIdentity(server, await server.createUser('alice at Valetkey', PASSWORD), 'u-1001')
})
afterAll(async () => {
  loginPage.child.kill()
  await rm(directory, { recursive: true })
  await server.close()
})

async function submit(request: string, password: string) {
  const body = new URLSearchParams({ request, username: 'alice', password })
  return fetch(loginPage.url, { method: 'POST', body, redirect: 'manual' })
}

test('the example login page signs alice in to an app', async () => {
  const browser = server.newBrowser()
  const request = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
  const form = await (await fetch(`${loginPage.url}?request=${request}`)).text()
  expect(form).toContain(`name="request" value="${request}"`)
  expect((await submit(request, 'wrong')).status).toBe(422)
  const { status, headers } = await submit(request, 'only for this example')
  expect(status).toBe(303)
  const consent = await browser.open(headers.get('location') ?? '')
  expect(consent.body).toContain('alice at Valetkey')
  const answer = await browser.submitOnly(consent, { decision: 'allow' })
  expect(answer.headers.location).toMatch(`${REDIRECT_URI}?`)
})

test('its cancel link leads to the page with the other ways', async () => {
  const browser = server.newBrowser()
  const request = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
  const form = await (await fetch(`${loginPage.url}?request=${request}`)).text()
  const cancel = /<a href="([^"]+)"/.exec(form)?.[1]?.replace('&amp;', '&') ?? ''
  expect(cancel.startsWith(`${ISSUER}/login/handoff/callback?`)).toBe(true)
  expect((await browser.open(cancel)).body).toContain('You stopped at')
})

test('it refuses a request id that Valetkey cannot have sent', async () => {
  expect((await fetch(`${loginPage.url}?request=${encodeURIComponent('"><script>')}`)).status).toBe(400)
})

test('has at most 60 lines and imports modules of Node only', () => {
  const program = readFileSync(path.join(EXAMPLE, 'login-page.mjs'), 'utf8')
  expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
  expect([...program.matchAll(/from '([^']+)'/g)].every(([, module]) => module?.startsWith('node:'))).toBe(true)
})
