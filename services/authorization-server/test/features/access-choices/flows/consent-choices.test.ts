import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import { firstForm } from '../../../support/browser.js'
import { runCommand } from '../../../support/command-line.js'
import { exchange, PASSWORD, responseParameters } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { postTo, signedInBrowser } from '../../../support/pages.js'
import { choicesOn, DAY, HOUR, openChoice, tokensFor, valuesOn } from '../support/chosen-ends.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer({ ACCESS_CHOICES: 'until_ended, 30d 1h,1d' })
  client = await server.createClient()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())
afterEach(() => server.redis.flushdb())

const lifetimes = (change: object) => ({
  lifetimes: { accessToken: undefined, refreshTokenIdle: undefined, refreshTokenMax: undefined, ...change }
})

describe('the consent page', () => {
  test('offers the choices, the shortest first, and selects none for a registered client', async () => {
    const { page } = await openChoice(server, client)
    const isSelected = false
    expect(choicesOn(page)).toEqual([
      { value: '1h', isSelected },
      { value: '1d', isSelected },
      { value: '30d', isSelected },
      { value: 'until_ended', isSelected }
    ])
    expect(page.body).toContain('For <bdi>1 hour</bdi>')
    expect(page.body).toContain('Until you end it, <bdi>90 days</bdi> at most')
  })

  test.each([
    { name: '10 days', change: lifetimes({ refreshTokenMax: 10 * DAY }), values: ['1h', '1d', 'until_ended'] },
    { name: 'just that of a choice', change: lifetimes({ refreshTokenMax: DAY }), values: ['1h', '1d'] },
    { name: 'just that of the shortest', change: lifetimes({ refreshTokenMax: HOUR }), values: [] },
    { name: 'shorter than each of them', change: lifetimes({ refreshTokenMax: 600 }), values: [] },
    { name: 'that of its access token', change: { issuesRefreshTokens: false }, values: [] }
  ])('offers no choice that is longer than the maximum of the client: $name', async ({ change, values }) => {
    const { page } = await openChoice(server, await server.createClient(change))
    expect(valuesOn(page)).toEqual(values)
    expect(page.body.includes('<dt>How long</dt>')).toBe(values.length === 0)
  })

  test('selects the default of the operator, but not for a client that cannot have it', async () => {
    const accessChoices = { ...server.config.accessChoices, preselected: '30d' }
    const instance = await startInstance(server, { config: { accessChoices } })
    try {
      const selectedOn = async (credentials: Credentials) =>
        choicesOn((await openChoice(instance, credentials)).page).filter(({ isSelected }) => isSelected)
      expect(await selectedOn(client)).toEqual([{ value: '30d', isSelected: true }])
      expect(await selectedOn(await server.createClient(lifetimes({ refreshTokenMax: DAY })))).toEqual([])
    } finally {
      await instance.close()
    }
  })

  test('is without choices as it was before the feature', async () => {
    const config = { accessChoices: { choices: [], preselected: undefined } }
    const instance = await startInstance(server, { config })
    try {
      const { page } = await openChoice(instance, client)
      expect(page.body).not.toMatch(/fieldset|radio|formnovalidate/)
      expect(page.body).toContain('<dt>How long</dt>')
    } finally {
      await instance.close()
    }
  })
})

describe('Allow', () => {
  test('without a choice shows the page again with what is ticked, and the app gets no response', async () => {
    const optional = { requiredScopes: ['files.read'], optionalScopes: ['files.read:images'] }
    const credentials = await server.createClient(optional)
    const { browser, page } = await openChoice(server, credentials, { scope: 'files.read files.read:images' })
    const ticked = { 'scope.files.read:images': 'on' }
    const again = await browser.submitOnly(page, { decision: 'allow', ...ticked })
    expect(again.statusCode).toBe(422)
    expect(again.body).toContain('Choose how long the app may use your account')
    expect(firstForm(again.body).fields).toMatchObject(ticked)
    const answer = await browser.submitOnly(again, { decision: 'allow', access_ends: '1h' })
    const { code = '' } = responseParameters(answer)
    expect((await exchange(server, credentials, code)).json().scope).toBe('files.read files.read:images')
  })

  test('without a scope keeps the choice', async () => {
    const optional = { requiredScopes: [], optionalScopes: ['files.read', 'files.read:images'] }
    const scope = 'files.read files.read:images'
    const { browser, page } = await openChoice(server, await server.createClient(optional), { scope })
    const again = await browser.submitOnly(page, { decision: 'allow', access_ends: '1d' })
    expect([again.statusCode, firstForm(again.body).fields.access_ends]).toEqual([422, '1d'])
  })

  test('needs no choice to deny', async () => {
    const { browser, page } = await openChoice(server, client)
    expect(responseParameters(await browser.submitOnly(page, { decision: 'deny' }))).toMatchObject({
      error: 'access_denied'
    })
  })

  test.each([
    { name: 'was not offered', sent: 'access_ends=2d' },
    { name: 'is longer than the maximum of the client', sent: 'access_ends=30d' },
    { name: 'is a number', sent: 'access_ends=999999999' },
    { name: 'has other letters', sent: 'access_ends=1H' },
    { name: 'is malformed', sent: 'access_ends=%FF' },
    { name: 'was sent twice', sent: 'access_ends=1h&access_ends=1d' },
    { name: 'was sent twice, with one value', sent: 'access_ends=1h&access_ends=1h' }
  ])('with a choice that $name asks again, and issues no code', async ({ sent }) => {
    const credentials = await server.createClient(lifetimes({ refreshTokenMax: 2 * DAY }))
    const { browser, page } = await openChoice(server, credentials)
    const { action, fields } = firstForm(page.body)
    const form = `${new URLSearchParams({ ...fields, decision: 'allow' })}&${sent}`
    const headers = { origin: server.config.issuer, 'sec-fetch-site': 'same-origin' }
    const answer = await postTo(server, browser, action, form, headers)
    const { pathname, searchParams } = new URL(String(answer.headers.location))
    expect([answer.statusCode, pathname, searchParams.get('again')]).toEqual([303, '/oauth/authorize', 'interrupted'])
  })

  test('after the choices have changed asks again', async () => {
    const { browser, page } = await openChoice(server, client)
    const choices = server.config.accessChoices.choices.filter(({ value }) => value !== '1d')
    const instance = await startInstance(server, { config: { accessChoices: { choices, preselected: undefined } } })
    try {
      const form = { decision: 'allow', access_ends: '1h' }
      const { action, fields } = firstForm(page.body)
      const headers = { origin: server.config.issuer, 'sec-fetch-site': 'same-origin' }
      const body = new URLSearchParams({ ...fields, ...form }).toString()
      const answer = await postTo(instance, browser, action, body, headers)
      expect(new URL(String(answer.headers.location)).pathname).toBe('/oauth/authorize')
    } finally {
      await instance.close()
    }
  })

  test('ignores a choice that the page did not ask for', async () => {
    const credentials = await server.createClient(lifetimes({ refreshTokenMax: 600 }))
    const browser = await signedInBrowser(server)
    const tokens = await tokensFor(server, credentials, '1h', { browser })
    expect(tokens.authorization_expires_in).toBe(600)
  })
})

test('Allow asks again if "until ended" has become longer since the page was shown', async () => {
  const credentials = await server.createClient(lifetimes({ refreshTokenMax: 10 * DAY }))
  const { browser, page } = await openChoice(server, credentials)
  expect(page.body).toContain('Until you end it, <bdi>10 days</bdi> at most')
  await runCommand(server.database, ['clients', 'update', credentials.clientId, '--refresh-token-max-ttl', '20d'])
  await until(async () => {
    const client = await server.deps.authorize.clients.find(credentials.clientId)
    return client?.lifetimes?.refreshTokenMax === 20 * DAY
  })
  const answer = await browser.submitOnly(page, { decision: 'allow', access_ends: 'until_ended' })
  expect(new URL(String(answer.headers.location)).pathname).toBe('/oauth/authorize')
})
