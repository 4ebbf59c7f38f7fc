import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { visibleText } from '../../support/page-content.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'

// Requests that reach no route: a page for a person, JSON for a program.
let server: TestServer
let port: number

beforeAll(async () => {
  server = await startTestServer()
  port = await listenOnFreePort(server.publicServer)
})
afterAll(() => server.close())

const FORM = 'Content-Type: application/x-www-form-urlencoded'
const COOKIES_OF_A_BROWSER = `Cookie: a=${'b'.repeat(17_000)}`
const HTML = 'Accept: text/html,application/xhtml+xml,*/*;q=0.8'
const to = (target: string, ...headers: string[]) => rawRequest(`GET ${target}`, [...headers, 'Connection: close'])
const answerTo = async (bytes: string) => {
  const { answers } = await sendRaw(port, bytes)
  expect(answers).toHaveLength(1)
  return { body: '', headers: {}, ...answers[0] }
}

test.each([
  { name: 'cookies over 16 KiB', bytes: to('/login', HTML, COOKIES_OF_A_BROWSER), status: 431 },
  { name: 'cookies over 16 KiB, before Accept', bytes: to('/login', COOKIES_OF_A_BROWSER, HTML), status: 431 },
  {
    name: 'cookies over 16 KiB, at a page, for any type',
    bytes: to('/consent?a=b', COOKIES_OF_A_BROWSER),
    status: 431
  },
  { name: 'cookies over 16 KiB, at an unknown page', bytes: to('/nothing', HTML, COOKIES_OF_A_BROWSER), status: 431 },
  { name: 'an address over 16 KiB', bytes: to(`/oauth/authorize?state=${'a'.repeat(17_000)}`, HTML), status: 431 },
  { name: 'an address with malformed encoding', bytes: to('/%zz', HTML), status: 400 },
  { name: 'a malformed cookie', bytes: to('/account/apps', HTML, 'Cookie: a=\x01'), status: 400 },
  {
    name: 'a Host that is invalid',
    bytes: to('/login', HTML).replace('Host: localhost', 'Host: local host'),
    status: 400
  }
])('$name: $status with a page that names cookies', async ({ bytes, status }) => {
  const { status: got, headers, body } = await answerTo(bytes)
  expect(got).toBe(status)
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(body.length),
    'content-security-policy': expect.stringContaining("default-src 'none'"),
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store'
  })
  expect(visibleText(body)).toContain('delete the cookies of this site')
  expect(body).toContain(String(headers['x-request-id']))
  expect(body).not.toMatch(/%zz|bbbb|aaaa/)
})

test.each([
  { name: 'German', header: 'Accept-Language: de', target: '/%zz', lang: 'lang="de" dir="ltr"' },
  { name: 'Arabic', header: 'Accept-Language: en', target: '/%zz?ui_locales=ar', lang: 'lang="ar" dir="rtl"' }
])('the page is in $name', async ({ header, target, lang }) => {
  expect((await answerTo(to(target, HTML, header))).body).toContain(lang)
})

test('a browser whose headers arrive in several parts gets the page', async () => {
  const head = to('/login', HTML, COOKIES_OF_A_BROWSER)
  const connected = once(server.publicServer.server, 'connection') as Promise<[Socket]>
  const first = head.slice(0, 10_000)
  const rest = connected.then(async ([socket]) => {
    await until(async () => socket.bytesRead >= first.length)
    return head.slice(first.length)
  })
  const { answers } = await sendRaw(port, first, { rest })
  expect(answers.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
    [431, 'text/html; charset=utf-8']
  ])
})

test.each([
  { name: 'POST /token', bytes: rawRequest('POST /token', [HTML, FORM, COOKIES_OF_A_BROWSER]), status: 431 },
  { name: 'the metadata', bytes: to('/.well-known/oauth-authorization-server', COOKIES_OF_A_BROWSER), status: 431 },
  { name: 'a program at a page', bytes: to('/login', 'Accept: application/json', COOKIES_OF_A_BROWSER), status: 431 },
  { name: 'a program at an unknown path', bytes: to('/%zz', 'Accept: */*'), status: 400 }
])('$name gets JSON', async ({ bytes, status }) => {
  const { status: got, headers, body } = await answerTo(bytes)
  expect([got, headers['content-type']]).toEqual([status, 'application/json; charset=utf-8'])
  expect(JSON.parse(body)).toMatchObject({
    error: 'invalid_request',
    error_description: 'The request could not be read.'
  })
})
