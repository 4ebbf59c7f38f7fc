import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { basic, introspect, PASSWORD, post, refresh } from '../../support/flow.js'
import { createPublicClient, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const WIDE = 'files.read files.read:images'
const REFRESH_TOKEN = expect.stringMatching(/^vk_rt_[0-9A-Za-z]{49}$/)
const ACCESS_TOKEN = expect.stringMatching(/^vk_at_[0-9A-Za-z]{53}$/)

const clock = stopClock()
let server: TestServer
let confidential: Credentials
let publicClient: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  confidential = await server.createClient()
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('rotation (RFC 6749 §6, RFC 9700 §4.14.2)', () => {
  test.each(['confidential', 'public'] as const)(
    'a %s client gets a new pair, member for member what RFC 6749 5.1 shows',
    async (type) => {
      const client = type === 'public' ? publicClient : confidential
      const first = await obtainTokens(server, client)
      clock.advance(60)
      const answer = await refresh(server, client, first.refresh_token)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers.pragma).toBe('no-cache')
      expect(answer.headers).not.toHaveProperty('www-authenticate')
      const second = answer.json()
      expect(second).toEqual({
        access_token: ACCESS_TOKEN,
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'files.read',
        refresh_token: REFRESH_TOKEN
      })
      expect(second.access_token).not.toBe(first.access_token)
      expect(second.refresh_token).not.toBe(first.refresh_token)
    }
  )

  test('Basic in the header works like the secret in the body (RFC 6749 §2.3.1)', async () => {
    const { refresh_token } = await obtainTokens(server, confidential)
    const answer = await post(server, '/token', { grant_type: 'refresh_token', refresh_token }, basic(confidential))
    expect(pairOf(answer).refresh_token).toEqual(REFRESH_TOKEN)
  })

  test('the earlier access token stays active until it expires', async () => {
    const first = await obtainTokens(server, confidential)
    const second = pairOf(await refresh(server, confidential, first.refresh_token))
    expect(await isActive(server, resourceServer, first.access_token)).toBe(true)
    expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
  })

  test('a chain of ten refreshes has one grant and one user, and every jti is new', async () => {
    const first = await obtainTokens(server, confidential)
    const seen = [(await introspect(server, resourceServer, first.access_token)).json()]
    let current = first
    for (let step = 0; step < 10; step++) {
      clock.advance(31)
      current = pairOf(await refresh(server, confidential, current.refresh_token))
      seen.push((await introspect(server, resourceServer, current.access_token)).json())
    }
    expect(new Set(seen.map(({ grant_id, sub, client_id }) => `${grant_id} ${sub} ${client_id}`)).size).toBe(1)
    expect(new Set(seen.map(({ jti }) => jti)).size).toBe(11)
  })

  test('expires_in and the expiry of the token are the same time', async () => {
    const first = await obtainTokens(server, confidential)
    clock.advance(100)
    const second = pairOf(await refresh(server, confidential, first.refresh_token))
    const { iat, exp } = (await introspect(server, resourceServer, second.access_token)).json()
    expect(iat).toBe(clock.now().getTime() / 1000)
    expect(exp).toBe(iat + second.expires_in)
  })

  test('a client without refresh tokens gets unauthorized_client, and its tokens stay active (RFC 6749 §5.2)', async () => {
    const client = await server.createClient()
    const { refresh_token, access_token } = await obtainTokens(server, client)
    const text = 'update clients set issues_refresh_tokens = $2 where client_id = $1'
    const set = (on: boolean) =>
      server.database.query({ name: 'test_issues_refresh_tokens', text, values: [client.clientId, on] })
    await set(false)
    const refused = await refresh(server, client, refresh_token)
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'unauthorized_client'])
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    await set(true)
    expect((await refresh(server, client, refresh_token)).statusCode).toBe(200)
  })
})

describe('scope of a refresh (RFC 6749 §6)', () => {
  let tokens: Tokens
  beforeEach(async () => {
    tokens = await obtainTokens(server, confidential, { scope: WIDE })
  })

  test.each([
    { name: 'absent', form: {}, scope: WIDE },
    { name: 'empty, which counts as absent', form: { scope: '' }, scope: WIDE },
    { name: 'the same', form: { scope: WIDE }, scope: WIDE },
    {
      name: 'the same in another order',
      form: { scope: 'files.read:images files.read' },
      scope: 'files.read:images files.read'
    },
    { name: 'one of two', form: { scope: 'files.read:images' }, scope: 'files.read:images' },
    { name: 'one of two, named twice', form: { scope: 'files.read files.read' }, scope: 'files.read' }
  ])('$name: the access token has it, and the scope of the grant does not change', async ({ form, scope }) => {
    const second = pairOf(await refresh(server, confidential, tokens.refresh_token, form))
    expect(second.scope).toBe(scope)
    expect((await introspect(server, resourceServer, second.access_token)).json().scope).toBe(scope)
    const third = pairOf(await refresh(server, confidential, second.refresh_token))
    expect(third.scope).toBe(WIDE)
    expect((await introspect(server, resourceServer, third.access_token)).json().scope).toBe(WIDE)
  })

  test('a narrower access token does not change the earlier one', async () => {
    await refresh(server, confidential, tokens.refresh_token, { scope: 'files.read:images' })
    expect((await introspect(server, resourceServer, tokens.access_token)).json().scope).toBe(WIDE)
  })

  test.each([
    { name: 'wider by one', scope: `${WIDE} files.read:media` },
    { name: 'another one only', scope: 'files.read:media' },
    { name: 'unknown', scope: 'no.such.scope' },
    { name: 'in other letter case', scope: 'Files.Read' },
    { name: 'a part of a name', scope: 'files' },
    { name: 'two spaces between', scope: 'files.read  files.read:images' },
    { name: 'a space in front', scope: ' files.read' },
    { name: 'a trailing space', scope: 'files.read ' },
    { name: 'a character that no scope has', scope: 'files.read"' },
    { name: 'outside ASCII', scope: 'filés' },
    { name: 'separated by commas', scope: 'files.read,files.read:images' }
  ])('$name is invalid_scope, and the token stays valid (RFC 6749 §5.2)', async ({ scope }) => {
    const refused = await refresh(server, confidential, tokens.refresh_token, { scope })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_scope'])
    const second = pairOf(await refresh(server, confidential, tokens.refresh_token))
    expect(second.scope).toBe(WIDE)
  })

  test('a scope that was removed from the client is dropped, and the response says so (RFC 6749 §6)', async () => {
    const client = await server.createClient()
    const first = await obtainTokens(server, client, { scope: WIDE })
    await server.database.query({
      name: 'test_shrink_scopes',
      text: `update clients set required_scopes = '{files.read}' where client_id = $1`,
      values: [client.clientId]
    })
    expect(pairOf(await refresh(server, client, first.refresh_token)).scope).toBe('files.read')
  })
})
