import { afterAll, beforeAll, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { createLimiter } from '../../../../src/platform/rate-limits/limiter.js'
import { appFormLimit } from '../../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../../src/storage/redis/attempt-counters.js'
import type { TestServer } from '../../../support/authorization-server.js'
import { type Browser, firstForm } from '../../../support/browser.js'
import { newApp, sendForm, sendNewApp, startDeveloperServer, VALID } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { submitMultipart } from '../../../support/multipart-form.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'

let server: TestServer
let browser: Browser

beforeAll(async () => {
  server = await startDeveloperServer()
  await server.createUser('alice', PASSWORD)
  browser = await signedInBrowser(server)
})
afterAll(() => server.close())

const query = (text: string) => server.database.query<{ count: number }>({ name: '', text, values: [] })

test('after 100 valid forms of the user in a day, nothing is stored, and the input is kept', async () => {
  const [user] = await server.database.query<{ user_id: string }>({
    name: '',
    text: 'select user_id from users',
    values: []
  })
  const limiter = createLimiter(createAttemptCounterStore(server.redis), 1)
  for (let sent = 1; sent <= 99; sent++) await limiter.count(appFormLimit(user?.user_id ?? ''))
  expect((await sendNewApp(server, browser, { name: '' })).statusCode).toBe(422)
  const { url } = await newApp(server, browser)
  const edit = await browser.open(`${url}/edit`)
  const logos = async () => (await query('select count(*)::int as count from client_logos'))[0]?.count
  const before = await logos()
  const create = { width: 9, height: 9, channels: 3, background: '#821' } as const
  const logo = new Blob([new Uint8Array(await sharp({ create }).png().toBuffer())])
  const answer = await submitMultipart(server, browser, edit, { ...VALID, name: 'Bells', logo })
  expect([answer.statusCode, visibleText(answer.body)]).toEqual([422, expect.stringContaining('Try again tomorrow.')])
  expect(firstForm(answer.body).fields.name).toBe('Bells')
  expect(await logos()).toBe(before)
  // Neither can more users use the app.
  for (const people of ['testers', 'owners']) {
    const { body } = await sendForm(browser, url, people, { username: 'bob' })
    expect(visibleText(body)).toContain('Try again tomorrow.')
  }
  expect(await query('select username from app_testers union select username from app_invitations')).toEqual([])
})
