import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openChooseApp, RETURN_TO } from '../support/choose-app.js'

let app: Awaited<ReturnType<typeof openChooseApp>>
beforeAll(async () => {
  app = await openChooseApp('http://example.com/api')
})
afterAll(() => app.close())

test('with a path in RESOURCE_URL, the pages, their files and their cookies are below it', async () => {
  const sub = randomUUID()
  const ids = await app.save(sub, ['/a.txt'])
  const browser = await app.open(app.handOver({ sub }))
  expect(browser.address).toMatch(/^http:\/\/example\.com\/api\/choose\//)
  // Without TLS, browsers would not keep a cookie that is Secure.
  expect(browser.redirect.headers['set-cookie']).toMatch(
    new RegExp(`; Path=${new URL(browser.address).pathname}; Expires=[^;]+; HttpOnly; SameSite=Lax$`)
  )
  const page = await browser.get()
  expect(page.headers).not.toHaveProperty('strict-transport-security')
  const files = [...page.html.matchAll(/(?:href|src)="([^"]*assets[^"]*)"/g)].map(([, address = '']) => address)
  expect(files).toHaveLength(3)
  for (const address of files) expect((await app.send('GET', address, {})).status).toBe(200)
  const done = await browser.submit(page, { do: 'done', file: ids })
  expect(done).toMatchObject({ status: 303, headers: { location: RETURN_TO } })
  app.endpoints.fail((response) => response.destroy())
  const away = await app.send('GET', `http://example.com/api/choose?handover=${'x'.repeat(43)}`, {})
  expect(away.html).toContain('href="http://example.com/api/choose?handover')
})
