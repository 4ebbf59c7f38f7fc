import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createLimiter } from '../../../../src/platform/rate-limits/limiter.js'
import { accountChangeLimit } from '../../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../../src/storage/redis/attempt-counters.js'
import { auditRows } from '../../../support/audit-rows.js'
import type { TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { newApp, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'

describe('changes in an hour', () => {
  let server: TestServer
  let browser: Browser
  let app: Awaited<ReturnType<typeof newApp>>
  let userId: string

  beforeAll(async () => {
    server = await startDeveloperServer('approved')
    userId = await server.createUser('alice', PASSWORD)
    browser = await signedInBrowser(server)
    app = await newApp(server, browser)
  })
  afterAll(() => server.close())

  const send = (below: string, fields: Record<string, string> = {}) => sendForm(browser, app.url, below, fields)
  const secrets = async () => {
    const text = `select left(encode(secret_hash, 'hex'), 12) as id from client_secrets`
    return (await server.database.query<{ id: string }>({ name: '', text, values: [] })).map(({ id }) => id)
  }

  test('60 of a user are accepted, with every form that adds or asks for something', async () => {
    const limiter = createLimiter(createAttemptCounterStore(server.redis), 1)
    for (let sent = 1; sent <= 55; sent++) await limiter.count(accountChangeLimit(userId))
    await send('secrets')
    await send('testers', { username: 'bob' })
    await send('owners', { username: 'carol' })
    await send('request')
    expect((await send('withdraw')).statusCode).toBe(200)
    const [added, asked] = [await send('testers', { username: 'dora' }), await send('request')]
    expect([added.statusCode, asked.statusCode]).toEqual([429, 429])
    expect([added.headers['retry-after'], visibleText(added.body)]).toEqual([
      expect.stringMatching(/^\d+$/),
      expect.stringContaining('Too many changes in an hour')
    ])
    expect((await auditRows(server)).at(-1)).toMatchObject({
      event: 'form_refused',
      user_id: userId,
      details: { reason: 'too_many_changes' }
    })
    expect(await server.database.query({ name: '', text: 'select username from app_testers', values: [] })).toEqual([
      { username: 'bob' }
    ])
  })

  test('those that take something away are always accepted', async () => {
    const [, added = ''] = await secrets()
    expect((await send('secrets/remove', { secret_id: added })).statusCode).toBe(200)
    expect((await send('testers/remove', { username: 'bob' })).statusCode).toBe(200)
    expect((await send('owners/withdraw', { username: 'carol' })).statusCode).toBe(200)
    expect(await secrets()).toHaveLength(1)
  })

  test('another user is not concerned', async () => {
    await server.createUser('bob', PASSWORD)
    const other = await signedInBrowser(server, 'bob')
    const { url } = await newApp(server, other, { name: 'Bells' })
    expect((await sendForm(other, url, 'request')).statusCode).toBe(200)
  })
})
