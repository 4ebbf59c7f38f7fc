import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { introspectionOf, pairOf } from '../../../support/tokens.js'
import { allowFor, DAY, endsOf, errorOf, HOUR, openChoice } from '../support/chosen-ends.js'

const BOTH = 'files.read files.read:images'
const clock = stopClock()
let server: TestServer
let api: Credentials
let client: Credentials
let browser: Browser

beforeAll(async () => {
  server = await startTestServer({ ACCESS_CHOICES: '1h,1d,until_ended' })
  api = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
beforeEach(async () => {
  // The limits of sign-ins are in Redis.
  await server.redis.flushdb()
  client = await server.createClient({ consent: 'remember' })
  const username = `user-${Math.random()}`
  await server.createUser(username, PASSWORD)
  browser = await signedInBrowser(server, username)
})

/** The response to a request that may show no page. */
async function silently(scope = 'files.read') {
  return responseParameters(await browser.get(authorizeUrl(client.clientId, { scope, prompt: 'none' })))
}
const allow = (choice: string, change: Record<string, string> = {}) =>
  allowFor(server, client, choice, { change, browser })
const tokensOf = async ({ code = '' }: Record<string, string>) => pairOf(await exchange(server, client, code))

describe('a remembered consent', () => {
  test('has the end of the choice: later grants end then, and afterwards prompt=none is consent_required', async () => {
    await allow('1h')
    clock.advance(HOUR - 30)
    const tokens = await tokensOf(await silently())
    expect(endsOf(tokens)).toEqual({ expires_in: 30, authorization_expires_in: 30, refresh_token_timeout: 30 })
    clock.advance(29)
    expect(await silently()).toHaveProperty('code')
    expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({ active: true })
    clock.advance(1)
    expect(await silently()).toMatchObject({ error: 'consent_required' })
    expect(await introspectionOf(server, api, tokens.access_token)).toEqual({ active: false })
  })

  test('ends between code and exchange: invalid_grant, also repeated', async () => {
    await allow('1h')
    clock.advance(HOUR - 5)
    const { code = '' } = await silently()
    clock.advance(5)
    expect(errorOf(await exchange(server, client, code))).toEqual([400, 'invalid_grant'])
    expect(errorOf(await exchange(server, client, code))).toEqual([400, 'invalid_grant'])
  })

  test('without an end is remembered without end', async () => {
    await allow('until_ended')
    clock.advance(3 * HOUR)
    expect((await tokensOf(await silently())).authorization_expires_in).toBe(90 * DAY)
  })

  test('of scopes with different ends has the earliest', async () => {
    await allow('1h')
    await allow('1d', { scope: 'files.read:images' })
    expect((await tokensOf(await silently('files.read:images'))).authorization_expires_in).toBe(HOUR)
    clock.advance(HOUR)
    expect(await silently(BOTH)).toMatchObject({ error: 'consent_required' })
  })

  test('without an end gets one with another scope', async () => {
    await allow('until_ended')
    await allow('1h', { scope: 'files.read:images' })
    expect((await tokensOf(await silently())).authorization_expires_in).toBe(HOUR)
  })

  test('gets another end from a decision about all of its scopes', async () => {
    await allow('1h')
    clock.advance(HOUR / 2)
    await allow('1d', { scope: BOTH })
    expect((await tokensOf(await silently(BOTH))).authorization_expires_in).toBe(DAY)
  })

  test('that is over is replaced: its scopes are asked for again', async () => {
    await allow('1h', { scope: BOTH })
    clock.advance(HOUR)
    const { page } = await openChoice(server, client, { scope: BOTH }, { browser })
    expect(page.body).not.toContain('You have allowed this before')
    await allow('1h')
    expect(await silently()).toHaveProperty('code')
    expect(await silently('files.read:images')).toMatchObject({ error: 'consent_required' })
  })
})
