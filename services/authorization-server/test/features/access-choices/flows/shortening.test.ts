import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createAccessEndStore } from '../../../../src/features/access-choices/access-end-store.js'
import { auditRows } from '../../../support/audit-rows.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { type Browser, firstForm } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { authorizeUrl, PASSWORD, refresh, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { postTo, signedInBrowser } from '../../../support/pages.js'
import { introspectionOf, pairOf } from '../../../support/tokens.js'
import { DAY, endsOf, errorOf, HOUR, type TokensWithEnds, tokensFor, valuesOn } from '../support/chosen-ends.js'

const LIST = `${ISSUER}/account/apps`
const clock = stopClock()
let server: TestServer
let api: Credentials
let client: Credentials
let username: string
let userId: string
let browser: Browser
let tokens: TokensWithEnds

beforeAll(async () => {
  server = await startTestServer({ ACCESS_CHOICES: '1h,1d,30d,until_ended', ACCESS_TOKEN_TTL: String(2 * HOUR) })
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
  username = `user-${Math.random()}`
  userId = await server.createUser(username, PASSWORD)
  browser = await signedInBrowser(server, username)
  tokens = await tokensFor(server, client, '30d', { browser })
})

const pageOf = ({ clientId }: Credentials) => `${LIST}/shorten?${new URLSearchParams({ client_id: clientId })}`
const openPage = (credentials = client, by = browser) => by.open(pageOf(credentials))
const shortenTo = async (choice: string) => browser.submitOnly(await openPage(), { access_ends: choice })
const isActive = async (token = tokens.access_token) => (await introspectionOf(server, api, token)).active

describe('/account/apps', () => {
  test('says how much time is left, and links to the page that shortens it', async () => {
    const { body } = await browser.open(LIST)
    expect(visibleText(body)).toContain('Access ends within 30 days')
    expect(body).toContain(`href="${pageOf(client).replace('=', '&#x3D;')}"`)
  })

  test('says nothing of an end that the user did not choose, and links to the page', async () => {
    await browser.submitOnly(await browser.open(`${LIST}/end?client_id=${client.clientId}`), {})
    await tokensFor(server, client, 'until_ended', { browser })
    const { body } = await browser.open(LIST)
    expect(visibleText(body)).not.toContain('Access ends within')
    expect(valuesOn(await openPage())).toEqual(['1h', '1d', '30d'])
  })
})

describe('/account/apps/shorten', () => {
  test('offers only what ends earlier than now', async () => {
    expect(valuesOn(await openPage())).toEqual(['1h', '1d'])
    await shortenTo('1d')
    expect(valuesOn(await openPage())).toEqual(['1h'])
    await shortenTo('1h')
    expect((await openPage()).url).toBe(LIST)
  })

  test('makes the end earlier: of the next tokens, and of the remembered consent', async () => {
    const answer = await shortenTo('1d')
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `${LIST}?done=shortened`])
    const list = visibleText((await browser.open(`${LIST}?done=shortened`)).body)
    expect(list).toMatch(/The access of the app ends earlier\..*Access ends within 1 day/s)
    expect(await isActive()).toBe(true)
    const next = pairOf(await refresh(server, client, tokens.refresh_token))
    expect(endsOf(next)).toEqual({
      expires_in: 2 * HOUR,
      authorization_expires_in: DAY,
      refresh_token_timeout: DAY
    })
    clock.advance(DAY)
    expect(errorOf(await refresh(server, client, next.refresh_token))).toEqual([400, 'invalid_grant'])
    const back = await signedInBrowser(server, username)
    const silent = await back.get(authorizeUrl(client.clientId, { prompt: 'none' }))
    expect(responseParameters(silent)).toMatchObject({ error: 'consent_required' })
  })

  test('below the life of an issued access token ends this token at once; the next has the new end', async () => {
    await shortenTo('1h')
    expect(await isActive()).toBe(false)
    const next = pairOf(await refresh(server, client, tokens.refresh_token))
    expect(endsOf(next)).toEqual({ expires_in: HOUR, authorization_expires_in: HOUR, refresh_token_timeout: HOUR })
    expect(await isActive(next.access_token)).toBe(true)
    clock.advance(HOUR)
    expect(await isActive(next.access_token)).toBe(false)
  })

  test('within the retry window: the repeated response says that its access token has ended', async () => {
    pairOf(await refresh(server, client, tokens.refresh_token))
    await shortenTo('1h')
    expect(endsOf(pairOf(await refresh(server, client, tokens.refresh_token)))).toEqual({
      expires_in: 0,
      authorization_expires_in: HOUR,
      refresh_token_timeout: HOUR
    })
  })

  test('writes an audit event for each grant, with the end', async () => {
    const end = new Date(clock.now().getTime() + HOUR * 1000).toISOString()
    await shortenTo('1h')
    const events = (await auditRows(server)).filter(({ event }) => event === 'access_shortened')
    const named = { client_id: client.clientId, user_id: userId }
    expect(events.filter((row) => row.user_id === userId)).toMatchObject([{ ...named, details: { endsAt: end } }])
  })

  test.each([
    { name: 'to a longer time', sent: 'access_ends=30d' },
    { name: 'to no end', sent: 'access_ends=until_ended' },
    { name: 'to a time that is not offered', sent: 'access_ends=2d' },
    { name: 'to two times', sent: 'access_ends=1h&access_ends=1d' },
    { name: 'to no time', sent: '' }
  ])('refuses a change $name, and changes nothing', async ({ sent }) => {
    await shortenTo('1d')
    const { action, fields } = firstForm((await openPage()).body)
    const headers = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
    const answer = await postTo(server, browser, action, `${new URLSearchParams(fields)}&${sent}`, headers)
    expect(answer.statusCode).toBe(422)
    const next = pairOf(await refresh(server, client, tokens.refresh_token))
    expect(endsOf(next).authorization_expires_in).toBe(DAY)
  })

  test('of two forms that were opened before, the shorter time stays', async () => {
    const [first, second] = [await openPage(), await openPage()]
    await browser.submitOnly(first, { access_ends: '1h' })
    const late = await browser.submitOnly(second, { access_ends: '1d' })
    expect(late.headers.location).toBe(LIST)
    expect(endsOf(pairOf(await refresh(server, client, tokens.refresh_token))).authorization_expires_in).toBe(HOUR)
  })

  test('ten forms at once: the shortest time stays', async () => {
    const page = await openPage()
    const choices = Array.from({ length: 10 }, (_, index) => (index === 3 ? '1h' : '1d'))
    await Promise.all(choices.map((choice) => browser.submitOnly(page, { access_ends: choice })))
    expect(endsOf(pairOf(await refresh(server, client, tokens.refresh_token))).authorization_expires_in).toBe(HOUR)
  })

  test('changes nothing of another user, and shows nothing of an app that the user has not allowed', async () => {
    const other = `user-${Math.random()}`
    await server.createUser(other, PASSWORD)
    const stranger = await signedInBrowser(server, other)
    expect((await openPage(client, stranger)).url).toBe(LIST)
    const own = await server.createClient()
    await tokensFor(server, own, '30d', { browser: stranger })
    const page = await openPage(own, stranger)
    const answer = await stranger.submitOnly(page, { client_id: client.clientId, access_ends: '1h' })
    expect(answer.headers.location).toBe(LIST)
    expect(await isActive()).toBe(true)
    await tokensFor(server, client, '30d', { browser: stranger })
    await stranger.submitOnly(await openPage(client, stranger), { access_ends: '1h' })
    expect(await isActive()).toBe(true)
  })

  test.each([
    { name: 'without an origin', headers: {}, status: 403 },
    {
      name: 'from another site',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      status: 403
    }
  ])('refuses a form $name', async ({ headers, status }) => {
    const { action, fields } = firstForm((await openPage()).body)
    const form = new URLSearchParams({ ...fields, csrf_token: '', access_ends: '1h' }).toString()
    const answer = await postTo(server, browser, action, form, headers)
    expect([303, status]).toContain(answer.statusCode)
    expect(await isActive()).toBe(true)
  })

  test('redirects to sign-in without a session', async () => {
    expect((await server.newBrowser().get(pageOf(client))).headers.location).toBe(`${ISSUER}/login`)
  })
})

describe('an end that is made earlier', () => {
  const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000)
  const shorten = (clientId: string, end: Date) => createAccessEndStore(server.database).shorten(userId, clientId, end)

  test('is not made later by a later statement', async () => {
    expect(await shorten(client.clientId, inSeconds(DAY))).toHaveLength(1)
    expect(await shorten(client.clientId, inSeconds(2 * DAY))).toEqual([])
    expect(endsOf(pairOf(await refresh(server, client, tokens.refresh_token))).authorization_expires_in).toBe(DAY)
  })

  test.each([
    { name: 'is replaced', change: {} },
    { name: 'stays', change: { keepsRefreshTokens: true } }
  ])('while a refresh is under way, whose refresh token $name: no token of it lasts longer', async ({ change }) => {
    const app = await server.createClient(change)
    const first = await tokensFor(server, app, '30d', { browser })
    const { refreshTokens } = server.deps.token
    const { find } = refreshTokens
    // Between the lookup and the statement that stores the tokens.
    let isShortened = false
    refreshTokens.find = async (hash) => {
      const found = await find(hash)
      if (!isShortened) await shorten(app.clientId, inSeconds(HOUR))
      isShortened = true
      return found
    }
    try {
      const next = pairOf(await refresh(server, app, first.refresh_token))
      expect(endsOf(next)).toEqual({ expires_in: HOUR, authorization_expires_in: HOUR, refresh_token_timeout: HOUR })
      expect(await isActive(next.access_token)).toBe(true)
    } finally {
      refreshTokens.find = find
    }
  })
})
