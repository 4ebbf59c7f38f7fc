import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../support/authorization-server.js'
import {
  authorizeUrl,
  basic,
  bodyCredentials,
  exchange,
  introspect,
  obtainCode,
  PASSWORD,
  post,
  refresh,
  responseParameters
} from '../support/flow.js'

let server: TestServer
let client: Credentials
let resourceServer: Credentials
let userId: string

beforeAll(async () => {
  server = await startTestServer()
  userId = await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('the whole flow', () => {
  test('sign-in, Allow, code, token, introspection (RFC 6749 4.1)', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId))
    expect(login.statusCode).toBe(200)
    expect(login.body).toContain('Photo Printer')
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(consent.body).toContain('See the list of all your files')
    expect(consent.body).toContain('files.read')
    const redirect = await browser.submitOnly(consent, { decision: 'allow' })
    expect(redirect.statusCode).toBe(303)
    const answer = responseParameters(redirect)
    expect(answer).toEqual({ code: expect.stringMatching(/^vk_ac_[0-9A-Za-z]{49}$/), state: 'a state', iss: ISSUER })

    const token = await exchange(server, client, answer.code ?? '')
    expect(token.statusCode).toBe(200)
    expect(token.headers['cache-control']).toBe('no-store')
    expect(token.headers.pragma).toBe('no-cache')
    expect(token.json()).toEqual({
      access_token: expect.stringMatching(/^vk_at_[0-9A-Za-z]{53}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'files.read',
      refresh_token: expect.stringMatching(/^vk_rt_[0-9A-Za-z]{49}$/)
    })

    const introspection = await introspect(server, resourceServer, token.json().access_token)
    expect(introspection.json()).toEqual({
      active: true,
      scope: 'files.read',
      client_id: client.clientId,
      sub: userId,
      iss: ISSUER,
      aud: AUDIENCE,
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
      token_type: 'Bearer',
      grant_id: expect.any(String)
    })
  })

  test('Deny responds with access_denied, state and iss (RFC 6749 §4.1.2.1, RFC 9207 §2)', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId))
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    const redirect = await browser.submitOnly(consent, { decision: 'deny' })
    expect(redirect.statusCode).toBe(303)
    expect(responseParameters(redirect)).toMatchObject({ error: 'access_denied', state: 'a state', iss: ISSUER })
  })

  test('a wrong password and an unknown user get the same page', async () => {
    const pages = []
    for (const username of ['alice', 'unknown']) {
      const browser = server.newBrowser()
      const login = await browser.open(authorizeUrl(client.clientId))
      const refused = await browser.submitOnly(login, { username, password: 'wrong' })
      const withoutIds = refused.body
        .replaceAll(username, 'NAME')
        .replaceAll(/name="csrf_token" value="[\w-]+"/g, 'TOKEN')
        .replaceAll(/&quot;challenge&quot;:&quot;[\w-]+&quot;/g, 'CHALLENGE')
      pages.push({ status: refused.statusCode, withoutIds })
    }
    expect(pages[0]).toEqual(pages[1])
    expect(pages[0]?.status).toBe(422)
  })
})

describe('authorization code', () => {
  test('50 concurrent exchanges of one code: one 200, 49 invalid_grant', async () => {
    const code = await obtainCode(server, client)
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(server, client, code)))
    expect(answers.filter((answer) => answer.statusCode === 200)).toHaveLength(1)
    const refused = answers.filter((answer) => answer.statusCode === 400)
    expect(refused).toHaveLength(49)
    expect(new Set(refused.map((answer) => answer.json().error))).toEqual(new Set(['invalid_grant']))
  })

  test('a second use is refused as used, and the tokens of the grant end (RFC 6749 §4.1.2)', async () => {
    const code = await obtainCode(server, client)
    const first = (await exchange(server, client, code)).json()
    const second = await exchange(server, client, code)
    expect(second.statusCode).toBe(400)
    expect(second.json()).toMatchObject({
      error: 'invalid_grant',
      error_description: 'authorization code was already used',
      error_uri: `${ISSUER}/errors/invalid_grant`
    })
    expect((await introspect(server, resourceServer, first.access_token)).json()).toEqual({ active: false })
    expect((await refresh(server, client, first.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
  })

  test('a second use with another fault ends nothing (OAuth 2.1 §7.5.2)', async () => {
    const code = await obtainCode(server, client)
    const first = (await exchange(server, client, code)).json()
    const second = await exchange(server, client, code, { redirect_uri: 'https://app.example/other' })
    expect(second.json()).toMatchObject({ error: 'invalid_grant' })
    expect((await introspect(server, resourceServer, first.access_token)).json()).toMatchObject({ active: true })
  })

  test.each([
    { name: 'a wrong redirect URI', change: { redirect_uri: 'https://app.example/callback/' }, error: 'invalid_grant' },
    { name: 'a verifier without challenge', change: { code_verifier: 'v'.repeat(43) }, error: 'invalid_grant' },
    { name: 'a wrong secret', change: { client_secret: 'wrong' }, error: 'invalid_client' },
    { name: 'another resource', change: { resource: 'https://other.example' }, error: 'invalid_target' },
    { name: 'a repeated parameter by another name', change: { grant_type: '' }, error: 'invalid_request' }
  ])('$name is refused, and the code stays usable', async ({ change, error }) => {
    const code = await obtainCode(server, client)
    expect((await exchange(server, client, code, change)).json()).toMatchObject({ error })
    expect((await exchange(server, client, code)).statusCode).toBe(200)
  })

  test('another client cannot redeem it, and the code stays usable', async () => {
    const other = await server.createClient()
    const code = await obtainCode(server, client)
    expect((await exchange(server, other, code)).json()).toMatchObject({ error: 'invalid_grant' })
    expect((await exchange(server, client, code)).statusCode).toBe(200)
  })

  test('PKCE: requires the code verifier (RFC 7636 §4.6)', async () => {
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    const change = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = await obtainCode(server, client, { change })
    expect((await exchange(server, client, code)).json()).toMatchObject({ error: 'invalid_grant' })
    const wrong = { code_verifier: 'w'.repeat(43) }
    expect((await exchange(server, client, code, wrong)).json()).toMatchObject({ error: 'invalid_grant' })
    expect((await exchange(server, client, code, { code_verifier: verifier })).statusCode).toBe(200)
  })
})

describe('refresh', () => {
  test('rotates, and repeats the same response within the retry window', async () => {
    const first = (await exchange(server, client, await obtainCode(server, client))).json()
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(server, client, first.refresh_token)))
    const pairs = new Set(answers.map((answer) => `${answer.json().access_token} ${answer.json().refresh_token}`))
    expect(pairs.size).toBe(1)
    expect(answers[0]?.json().refresh_token).not.toBe(first.refresh_token)
    expect((await introspect(server, resourceServer, answers[0]?.json().access_token)).json()).toMatchObject({
      active: true
    })
  })

  test('reuse after the successor was used ends the grant (RFC 9700 §4.14.2)', async () => {
    const first = (await exchange(server, client, await obtainCode(server, client))).json()
    const second = (await refresh(server, client, first.refresh_token)).json()
    const third = (await refresh(server, client, second.refresh_token)).json()
    expect((await refresh(server, client, first.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
    expect((await introspect(server, resourceServer, third.access_token)).json()).toEqual({ active: false })
  })

  test('a narrower scope is valid for one access token only (RFC 6749 §6)', async () => {
    const change = { scope: 'files.read files.read:images' }
    const first = (await exchange(server, client, await obtainCode(server, client, { change }))).json()
    const narrow = (await refresh(server, client, first.refresh_token, { scope: 'files.read:images' })).json()
    expect(narrow.scope).toBe('files.read:images')
    const wide = (await refresh(server, client, narrow.refresh_token)).json()
    expect(wide.scope).toBe('files.read files.read:images')
    const wider = await refresh(server, client, wide.refresh_token, { scope: 'files.read files.read:media' })
    expect(wider.json()).toMatchObject({ error: 'invalid_scope' })
  })

  test('a client registered without refresh gets no refresh token', async () => {
    const plain = await server.createClient({ issuesRefreshTokens: false })
    const token = (await exchange(server, plain, await obtainCode(server, plain))).json()
    expect(token).not.toHaveProperty('refresh_token')
    const answer = await refresh(server, plain, 'vk_rt_x')
    expect(answer.json()).toMatchObject({ error: 'unauthorized_client' })
  })
})

describe('revocation (RFC 7009)', () => {
  test('an access token ends alone, a refresh token ends the grant; the response is always 200 and {}', async () => {
    const first = (await exchange(server, client, await obtainCode(server, client))).json()
    const second = (await refresh(server, client, first.refresh_token)).json()
    const credentials = bodyCredentials(client)
    const answer = await post(server, '/oauth/revoke', { token: first.access_token, ...credentials })
    expect([answer.statusCode, answer.headers['content-type'], answer.json()]).toEqual([
      200,
      'application/json; charset=utf-8',
      {}
    ])
    expect((await introspect(server, resourceServer, first.access_token)).json()).toEqual({ active: false })
    expect((await introspect(server, resourceServer, second.access_token)).json()).toMatchObject({ active: true })
    // A rotated one ends the grant as well.
    await post(server, '/oauth/revoke', { token: first.refresh_token, token_type_hint: 'access_token' }, basic(client))
    expect((await introspect(server, resourceServer, second.access_token)).json()).toEqual({ active: false })
  })

  test('tokens of other clients stay active, and unknown tokens are no error', async () => {
    const other = await server.createClient()
    const first = (await exchange(server, client, await obtainCode(server, client))).json()
    for (const token of [first.access_token, first.refresh_token, 'unknown']) {
      expect((await post(server, '/oauth/revoke', { token, ...bodyCredentials(other) })).statusCode).toBe(200)
    }
    expect((await introspect(server, resourceServer, first.access_token)).json()).toMatchObject({ active: true })
  })
})
