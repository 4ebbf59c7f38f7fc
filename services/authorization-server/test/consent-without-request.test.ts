import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from './support/authorization-server.js'
import { PASSWORD } from './support/flow.js'
import { visibleText } from './support/page-content.js'
import { postTo, signedInBrowser } from './support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

test.each([
  {
    who: 'somebody signed in',
    browser: () => signedInBrowser(server),
    url: '/account/apps',
    text: 'You are signed in'
  },
  {
    who: 'nobody signed in',
    browser: async () => server.newBrowser(),
    url: '/login',
    text: 'Sign in User name Password'
  }
])('GET and POST /consent by $who end on $url', async ({ browser: start, url, text }) => {
  const browser = await start()
  const page = await browser.open(`${ISSUER}/consent`)
  expect([page.url, page.statusCode]).toEqual([`${ISSUER}${url}`, 200])
  expect(visibleText(page.body)).toContain(text)
  const answer = await postTo(server, browser, '/consent', 'decision=allow', {
    origin: ISSUER,
    'sec-fetch-site': 'same-origin'
  })
  expect([answer.statusCode, answer.headers.location]).toEqual([303, `${ISSUER}/login`])
})
