import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newOpaqueAccessToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { createPublicClient, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let client: Credentials
let publicClient: Credentials
let other: Credentials
let resourceServer: Credentials
let first: Tokens

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  other = await server.createClient()
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  first = await obtainTokens(server, client)
})
afterAll(() => server.close())

const revoke = (token: string, form: Record<string, string> = {}, by = client) =>
  post(server, '/oauth/revoke', { token, ...bodyCredentials(by), ...form })

const alive = ({ access_token }: Tokens) => isActive(server, resourceServer, access_token)

async function refreshes({ refresh_token }: Tokens, by = client): Promise<boolean> {
  return (await refresh(server, by, refresh_token)).statusCode === 200
}

function expectDone(answer: Awaited<ReturnType<typeof revoke>>): void {
  expect([answer.statusCode, answer.body]).toEqual([200, '{}'])
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers).not.toHaveProperty('www-authenticate')
}

describe('revocation of an access token (RFC 7009 §2.1)', () => {
  test('ends only that token', async () => {
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expectDone(await revoke(first.access_token))
    expect([await alive(first), await alive(second)]).toEqual([false, true])
    expect(await refreshes(second)).toBe(true)
  })

  test('keeps its refresh token usable', async () => {
    expectDone(await revoke(first.access_token))
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expect(await alive(second)).toBe(true)
  })

  test.each(['access_token', 'refresh_token', 'code', 'id_token', ''])('works with the hint "%s"', async (hint) => {
    expectDone(await revoke(first.access_token, { token_type_hint: hint }))
    expect(await alive(first)).toBe(false)
  })
})

describe('revocation of a refresh token ends the grant (RFC 7009 §2.1)', () => {
  test.each(['refresh_token', 'access_token', 'code', 'id_token', ''])('with the hint "%s"', async (hint) => {
    expectDone(await revoke(first.refresh_token, { token_type_hint: hint }))
    expect([await alive(first), await refreshes(first)]).toEqual([false, false])
  })

  test('current token: all access and refresh tokens of the grant end', async () => {
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expectDone(await revoke(second.refresh_token))
    expect([await alive(first), await alive(second)]).toEqual([false, false])
    expect([await refreshes(first), await refreshes(second)]).toEqual([false, false])
  })

  test('rotated token: the same, after any number of refreshes', async () => {
    const second = pairOf(await refresh(server, client, first.refresh_token))
    const third = pairOf(await refresh(server, client, second.refresh_token))
    expectDone(await revoke(first.refresh_token))
    expect([await alive(first), await alive(second), await alive(third)]).toEqual([false, false, false])
    expect(await refreshes(third)).toBe(false)
  })

  test('another grant of the same user and client stays active', async () => {
    const again = await obtainTokens(server, client)
    expectDone(await revoke(first.refresh_token))
    expect([await alive(again), await refreshes(again)]).toEqual([true, true])
  })

  test('a new sign-in afterwards returns active tokens', async () => {
    await revoke(first.refresh_token)
    expect(await alive(await obtainTokens(server, client))).toBe(true)
  })
})

describe('a repeated revocation (RFC 7009 §2.2)', () => {
  test.each(['access_token', 'refresh_token'] as const)('of an ended %s: 200 and {}', async (kind) => {
    for (let time = 0; time < 3; time++) expectDone(await revoke(first[kind]))
    expect(await alive(first)).toBe(false)
  })

  test('of an access token after its grant was ended: 200 and {}', async () => {
    await revoke(first.refresh_token)
    expectDone(await revoke(first.access_token))
    expect(await alive(first)).toBe(false)
  })

  test('of a refresh token after its access token: 200 and {}', async () => {
    await revoke(first.access_token)
    expectDone(await revoke(first.refresh_token))
    expect(await refreshes(first)).toBe(false)
  })
})

describe('revocation of a token that the client does not own changes nothing (RFC 7009 §2.2)', () => {
  test.each(['access_token', 'refresh_token'] as const)('%s of another client: 200 and {}', async (kind) => {
    const publicOther = await createPublicClient(server)
    for (const by of [other, publicOther]) expectDone(await revoke(first[kind], {}, by))
    expect([await alive(first), await refreshes(first)]).toEqual([true, true])
  })

  test('rotated refresh token of another client: 200 and {}', async () => {
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expectDone(await revoke(first.refresh_token, {}, other))
    expect([await alive(second), await refreshes(second)]).toEqual([true, true])
  })

  test.each<{ name: string; value(): string }>([
    { name: 'an access token that was never issued', value: () => newOpaqueAccessToken(new Date(), randomBytes) },
    { name: 'a refresh token that was never issued', value: () => newOpaqueToken('refreshToken', randomBytes) },
    { name: 'an unknown value', value: () => 'unknown' },
    { name: 'a token without its last character', value: () => first.access_token.slice(0, -1) },
    { name: 'a token with another last character', value: () => first.access_token.replace(/.$/, '-') },
    { name: 'two tokens in one', value: () => `${first.access_token} ${first.refresh_token}` },
    { name: 'the client’s own secret', value: () => client.clientSecret },
    { name: 'characters outside ASCII', value: () => 'töken' },
    { name: '12,000 characters', value: () => 'x'.repeat(12_000) }
  ])('$name: 200 and {}', async ({ value }) => {
    expectDone(await revoke(value()))
    expect([await alive(first), await refreshes(first)]).toEqual([true, true])
  })

  test('a value with a wrong checksum: no lookup, for every prefix', async () => {
    const asked: string[] = []
    const instance = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query(statement) {
          asked.push(statement.name)
          return database.query(statement)
        }
      })
    })
    for (const token of [first.access_token, first.refresh_token]) {
      const broken = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
      expectDone(await post(instance, '/oauth/revoke', { token: broken, ...bodyCredentials(client) }))
    }
    expect(asked).toEqual(['find_client_with_secrets', 'find_client_with_secrets'])
    await instance.close()
  })

  test('a code: 200 and {}, and the code can still be exchanged', async () => {
    const code = await obtainCode(server, client)
    expectDone(await revoke(code))
    expect((await exchange(server, client, code)).statusCode).toBe(200)
  })
})

describe('revocation: client authentication (RFC 7009 §2.1)', () => {
  test('a confidential client with Basic: accepted', async () => {
    expectDone(await post(server, '/oauth/revoke', { token: first.refresh_token }, basic(client)))
    expect(await alive(first)).toBe(false)
  })

  test.each(['access_token', 'refresh_token'] as const)(
    'a public client with its client_id may revoke its own %s',
    async (kind) => {
      const mine = await obtainTokens(server, publicClient)
      expectDone(await revoke(mine[kind], {}, publicClient))
      expect(await alive(mine)).toBe(false)
      expect(await refreshes(mine, publicClient)).toBe(kind === 'access_token')
    }
  )

  test('a client that gets no refresh tokens may revoke its access token', async () => {
    const plain = await server.createClient({ issuesRefreshTokens: false })
    const { access_token } = (await exchange(server, plain, await obtainCode(server, plain))).json()
    expectDone(await revoke(access_token, {}, plain))
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
  })
})
