import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { AUDIENCE, type Credentials } from '../../../support/authorization-server.js'
import { bodyCredentials, post, refresh } from '../../../support/flow.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { createPublicClient, introspectionOf, isActive, pairOf } from '../../../support/tokens.js'
import { foreignToken, importFiles, inHours, tokenLine } from '../support/imports.js'

describe('a refresh token of another server', () => {
  const world = serverWithUser()
  const importLines = importFiles()
  let client: Credentials
  let resourceServer: Credentials
  let token: string

  beforeAll(async () => {
    client = await world.server.createClient({ redirectUris: ['https://app.example/callback'] })
    resourceServer = await world.server.createResourceServer()
  })
  beforeEach(async () => {
    token = foreignToken()
    await importOne({})
  })

  const importOne = async (change: object, value = token) => {
    const line = tokenLine(value, { client_id: client.clientId, user: world.username, ...change })
    const { code, said } = await importLines(world.server, [line])
    expect([code, said]).toEqual([0, ''])
  }
  const revoke = (value: string, by = client) =>
    post(world.server, '/oauth/revoke', { token: value, ...bodyCredentials(by) })
  const change = (text: string, values: readonly unknown[]) =>
    world.server.database.query({ name: '', text, values: [...values] })

  test('its first use gives tokens of this server, for the user, the scope and the API of the line', async () => {
    const pair = pairOf(await refresh(world.server, client, token))
    expect(pair).toMatchObject({ access_token: expect.stringMatching(/^vk_at_/), scope: 'files.read' })
    expect(pair.refresh_token).toMatch(/^vk_rt_/)
    expect(await introspectionOf(world.server, resourceServer, pair.access_token)).toMatchObject({
      sub: world.userId,
      client_id: client.clientId,
      aud: AUDIENCE,
      scope: 'files.read'
    })
    expect((await refresh(world.server, client, pair.refresh_token)).statusCode).toBe(200)
  })

  test('a repeated first use in the retry window gets the same tokens (RFC 9700 §4.14.2)', async () => {
    const first = pairOf(await refresh(world.server, client, token))
    const second = pairOf(await refresh(world.server, client, token))
    expect([second.access_token, second.refresh_token]).toEqual([first.access_token, first.refresh_token])
  })

  test('a use after that of its successor ends the grant (RFC 9700 §4.14.2)', async () => {
    const first = pairOf(await refresh(world.server, client, token))
    const next = pairOf(await refresh(world.server, client, first.refresh_token))
    expect((await refresh(world.server, client, token)).json().error).toBe('invalid_grant')
    expect(await isActive(world.server, resourceServer, next.access_token)).toBe(false)
    expect((await refresh(world.server, client, next.refresh_token)).json().error).toBe('invalid_grant')
  })

  test('another client gets nothing and changes nothing; neither does a wrong secret', async () => {
    const other = await world.server.createClient()
    expect((await refresh(world.server, other, token)).json().error).toBe('invalid_grant')
    expect((await refresh(world.server, { ...client, clientSecret: 'x' }, token)).json().error).toBe('invalid_client')
    expect((await refresh(world.server, client, token)).statusCode).toBe(200)
  })

  test('it is replaced for a client that keeps its refresh tokens; the new one is kept', async () => {
    const keeping = await world.server.createClient({ keepsRefreshTokens: true })
    const other = foreignToken()
    await importOne({ client_id: keeping.clientId }, other)
    const pair = pairOf(await refresh(world.server, keeping, other))
    expect(pair.refresh_token).toMatch(/^vk_rt_/)
    const next = pairOf(await refresh(world.server, keeping, pair.refresh_token))
    expect([next.refresh_token, next.access_token === pair.access_token]).toEqual([undefined, false])
  })

  test('a public client goes on without a secret', async () => {
    const app = await createPublicClient(world.server)
    const other = foreignToken()
    await importOne({ client_id: app.clientId }, other)
    expect(pairOf(await refresh(world.server, app, other)).refresh_token).toMatch(/^vk_rt_/)
  })

  test('a narrower scope is given, a wider one refused, and another API is not (RFC 6749 §6)', async () => {
    const other = foreignToken()
    await importOne({ scope: 'files.read files.read:images' }, other)
    const wider = await refresh(world.server, client, token, { scope: 'files.read files.read:images' })
    expect(wider.json().error).toBe('invalid_scope')
    const elsewhere = await refresh(world.server, client, token, { resource: 'https://other.example' })
    expect(elsewhere.json().error).toBe('invalid_target')
    const narrow = pairOf(await refresh(world.server, client, other, { scope: 'files.read:images' }))
    expect(narrow.scope).toBe('files.read:images')
  })

  test('a scope that the client has lost since the import is left out; with none left the grant ends', async () => {
    const app = await world.server.createClient()
    const [both, one] = [foreignToken(), foreignToken()]
    await importOne({ client_id: app.clientId, scope: 'files.read files.read:images' }, both)
    await importOne({ client_id: app.clientId }, one)
    await change(`update clients set required_scopes = '{files.read:images}' where client_id = $1`, [app.clientId])
    expect(pairOf(await refresh(world.server, app, both)).scope).toBe('files.read:images')
    expect((await refresh(world.server, app, one)).json().error).toBe('invalid_grant')
    await change(`update clients set required_scopes = '{files.read}' where client_id = $1`, [app.clientId])
    expect((await refresh(world.server, app, one)).json().error).toBe('invalid_grant')
  })

  test('it expires at the end that the other server gave it', async () => {
    const other = foreignToken()
    await importOne({ expires_at: inHours(2) }, other)
    const [row] = await change('select expires_at from refresh_tokens where token_hash = $1', [hashToken(other)])
    expect(Math.round((new Date(String(row?.expires_at)).getTime() - Date.now()) / 3_600_000)).toBe(2)
    await change('update refresh_tokens set expires_at = now() where token_hash = $1', [hashToken(other)])
    expect((await refresh(world.server, client, other)).json().error).toBe('invalid_grant')
  })

  test('all its refreshes end REFRESH_TOKEN_MAX_TTL after the import, or earlier if the client has less', async () => {
    const short = await world.server.createClient({
      lifetimes: { accessToken: undefined, refreshTokenIdle: undefined, refreshTokenMax: 1_800 }
    })
    const line = (value: string, { clientId }: Credentials) =>
      tokenLine(value, { client_id: clientId, user: world.username, expires_at: inHours(300 * 24) })
    const [one, other] = [foreignToken(), foreignToken()]
    const environment = { REFRESH_TOKEN_MAX_TTL: '7200' }
    await importLines(world.server, [line(one, client), line(other, short)], { environment })
    const minutes = async (value: string) => {
      const [row] = await change(
        `select extract(epoch from g.refreshable_until - now()) / 60 as until, extract(epoch from t.expires_at - now()) / 60 as ends
        from refresh_tokens t join grants g on g.grant_id = t.grant_id where t.token_hash = $1`,
        [hashToken(value)]
      )
      return [row?.until, row?.ends].map((each) => Math.ceil(Number(each)))
    }
    expect([await minutes(one), await minutes(other)]).toEqual([
      [120, 120],
      [30, 30]
    ])
  })

  test('of 10 first uses at once, each gets the same tokens', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(world.server, client, token)))
    expect(new Set(answers.map((answer) => pairOf(answer).refresh_token)).size).toBe(1)
  })

  test('a revocation ends it, before its first use and afterwards; that by another client does not (RFC 7009 §2.1)', async () => {
    const other = await world.server.createClient()
    await revoke(token, other)
    const pair = pairOf(await refresh(world.server, client, token))
    expect((await revoke(token)).statusCode).toBe(200)
    expect((await refresh(world.server, client, pair.refresh_token)).json().error).toBe('invalid_grant')
    const unused = foreignToken()
    await importOne({}, unused)
    expect((await revoke(unused)).statusCode).toBe(200)
    expect((await refresh(world.server, client, unused)).json().error).toBe('invalid_grant')
  })

  test('one of Ory Hydra is found by its signature, whatever the key says, and repeated with any key', async () => {
    const [key, otherKey, signature] = [foreignToken(), foreignToken(), foreignToken()]
    await importOne({}, signature)
    const pair = pairOf(await refresh(world.server, client, `ory_rt_${key}.${signature}`))
    expect(pairOf(await refresh(world.server, client, `ory_rt_${otherKey}.${signature}`)).refresh_token).toBe(
      pair.refresh_token
    )
    const old = foreignToken()
    await importOne({}, old)
    expect((await refresh(world.server, client, `${key}.${old}`)).statusCode).toBe(200)
    expect((await refresh(world.server, client, `ory_rt_${key}.${foreignToken()}`)).json().error).toBe('invalid_grant')
  })
})
