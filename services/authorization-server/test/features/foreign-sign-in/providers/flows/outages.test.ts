import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { TooManyAttempts } from '../../../../../src/platform/rate-limits/limiter.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { Browser } from '../../../../support/browser.js'
import { authorizeUrl, bodyCredentials, exchange, obtainCode, PASSWORD, post } from '../../../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import { startInstance } from '../../../../support/instance.js'
import { collectLog } from '../../../../support/log-lines.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith
} from '../../../../support/provider-sign-in.js'

describe('provider that does not respond', () => {
  let provider: ForgingProvider
  let server: TestServer
  let client: Credentials
  const log = collectLog()

  const queryOf = () => new URL(authorizeUrl(client.clientId)).search.slice(1)

  beforeAll(async () => {
    provider = await startForgingProvider()
    const gone = await startForgingProvider()
    await gone.close()
    const settings = [providerSetting(provider), providerSetting(gone, { id: 'gone', label: 'Gone Corp' })]
    server = await startTestServer(providersSetting(...settings), log.logger)
    client = await server.createClient()
    await server.createUser('alice', PASSWORD)
  })

  afterEach(() => {
    provider.answers({})
    log.lines.length = 0
  })

  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  test('at the start shows 503 with Retry-After, the other ways and the way back to the app', async () => {
    const browser = server.newBrowser()
    const page = await browser.get(`${ISSUER}/login/with/gone?${queryOf()}`)
    expect([page.statusCode, page.headers['retry-after']]).toEqual([503, '5'])
    expect(page.body).toContain('Gone Corp</bdi> does not respond')
    expect(page.body).toContain(`/login/with/forger?`)
    expect(page.body).toContain('Sign in with a password')
    expect(page.body).toContain('Back to')
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        event: 'provider_failed',
        level: 'warn',
        provider: 'gone',
        reason: 'unreachable',
        detail: expect.stringContaining('ECONNREFUSED')
      })
    )
  })

  test('leaves password sign-in, exchange and refresh alone', async () => {
    const tokens = JSON.parse((await exchange(server, client, await obtainCode(server, client))).body)
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...bodyCredentials(client) }
    expect((await post(server, '/token', form)).statusCode).toBe(200)
  })

  test('leaves its signed-in users alone', async () => {
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { preferred_username: 'signed-in' } })
    const paths = ['/.well-known/openid-configuration', '/jwks', '/token', '/userinfo']
    provider.answers(Object.fromEntries(paths.map((path) => [path, { hangs: true }])))
    provider.requests.length = 0
    expect(await signedInUser(browser)).toBeDefined()
    expect(provider.requests).toEqual([])
  })

  test('at the token endpoint is given up after 5 seconds; the same request succeeds when it is back', async () => {
    const browser = server.newBrowser()
    const { state } = await depart(browser, queryOf())
    provider.answers({ '/token': { hangs: true } })
    const page = await browser.get(callbackUrl({ code: 'c', state }))
    expect([page.statusCode, page.headers['retry-after']]).toEqual([503, '5'])
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'provider_failed', reason: 'timeout' }))
    provider.answers({})
    const next = await signInWith(provider, browser, { query: queryOf() })
    expect(next.headers.location).toBe(`${ISSUER}/oauth/authorize?${queryOf()}`)
  })

  test('while too many of its sign-ins wait shows 429 with Retry-After, because strangers can cause it', async () => {
    const { limiter } = server.deps.login
    const { attempt } = limiter
    limiter.attempt = async () => Promise.reject(new TooManyAttempts(5, 'too_many_at_once'))
    const page = await signInWith(provider, server.newBrowser(), { query: queryOf() })
    limiter.attempt = attempt
    expect([page.statusCode, page.headers['retry-after']]).toEqual([429, '5'])
    expect(page.body).toContain('cannot sign you in right now')
    expect(page.body).toContain('Wait a few seconds')
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason: 'too_many_at_once' }))
  })

  test('at the key set shows 503', async () => {
    const fresh = await startInstance(server)
    provider.answers({ '/jwks': { status: 503 } })
    const page = await signInWith(provider, new Browser(fresh.publicServer, ISSUER))
    expect(page.statusCode).toBe(503)
    await fresh.close()
  })

  test.each(['/.well-known/openid-configuration', '/jwks', '/token'])(
    'and sends megabytes at %s is refused, and they are not kept in memory',
    async (path) => {
      const fresh = await startInstance(server, { logger: log.logger })
      provider.answers({ [path]: { body: { filling: 'x'.repeat(2 * 1024 * 1024) } } })
      const browser = new Browser(fresh.publicServer, ISSUER)
      const page = await browser.get(`${ISSUER}/login/with/forger`)
      const { searchParams } = new URL(page.headers.location ?? ISSUER)
      const [state, nonce] = ['state', 'nonce'].map((name) => searchParams.get(name) ?? '') as [string, string]
      provider.signs({ claims: { nonce } })
      const last = page.statusCode === 303 ? await browser.get(callbackUrl({ code: 'c', state })) : page
      // After the callback, the profile of any person can be so large, and must not cause a 5xx.
      expect(last.statusCode).toBe(page.statusCode === 303 ? 400 : 500)
      expect(log.lines).toContainEqual(
        expect.objectContaining({ event: 'provider_failed', reason: 'response_too_large' })
      )
      await fresh.close()
    }
  )

  test('when the service starts does not stop the start, and works as soon as it responds', async () => {
    provider.answers({ '/.well-known/openid-configuration': { status: 502 } })
    const fresh = await startInstance(server)
    const first = await fresh.publicServer.inject({ url: '/login/with/forger', headers: { accept: 'text/html' } })
    expect(first.statusCode).toBe(503)
    provider.answers({})
    let status = 503
    while (status === 503) status = (await fresh.publicServer.inject({ url: '/login/with/forger' })).statusCode
    expect(status).toBe(303)
    await fresh.close()
  })

  test('with the metadata of another issuer is set up wrongly (OpenID Connect Discovery §4.3)', async () => {
    for (const issuer of ['https://evil.example', `${provider.issuer}/`]) {
      provider.announces({ issuer })
      const fresh = await startInstance(server, { logger: log.logger })
      const page = await fresh.publicServer.inject({ url: '/login/with/forger', headers: { accept: 'text/html' } })
      expect(page.statusCode).toBe(500)
      const detail = expect.stringContaining(issuer)
      expect(log.lines).toContainEqual(
        expect.objectContaining({ event: 'provider_failed', reason: 'wrong_issuer', detail })
      )
      await fresh.close()
      log.lines.length = 0
    }
    provider.announces({})
  })
})

describe('Postgres that fails during the callback', () => {
  test('shows 503, and the reloaded page continues with the request', async () => {
    const provider = await startForgingProvider()
    const server = await startTestServer(providersSetting(providerSetting(provider)))
    const client = await server.createClient()
    let isDown = false
    const instance = await startInstance(server, {
      wrap: (database) => ({
        query: async (statement) => {
          if (isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
          return database.query(statement)
        },
        close: () => database.close()
      })
    })
    const browser = new Browser(instance.publicServer, ISSUER)
    const query = new URL(authorizeUrl(client.clientId)).search.slice(1)
    const { state, nonce } = await depart(browser, query)
    const url = callbackUrl({ code: nonce, state })
    isDown = true
    const page = await browser.get(url)
    expect(page.statusCode).toBeGreaterThanOrEqual(500)
    isDown = false
    expect((await browser.get(url)).headers.location).toBe(`${ISSUER}/oauth/authorize?${query}`)
    await instance.close()
    await server.close()
    await provider.close()
  })
})
