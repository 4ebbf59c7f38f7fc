import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, exchange, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { lockGrantOf } from '../../support/row-lock.js'
import { deleteRow, disable, isActive, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let paused: TestServer
let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
let userId: string
let client: Credentials
let resourceServer: Credentials
let first: Tokens

beforeAll(async () => {
  server = await startTestServer()
  ;({ paused, pauses } = await startPausingInstance(server))
  resourceServer = await server.createResourceServer()
})
let users = 0
beforeEach(async () => {
  const username = `alice-${++users}`
  userId = await server.createUser(username, PASSWORD)
  client = await server.createClient()
  first = pairOf(await exchange(server, client, await obtainCode(server, client, { username })))
})
afterEach(() => {
  pauses.next = undefined
})
afterAll(async () => {
  await paused.close()
  await server.close()
})

const revoke = (token: string) => post(server, '/oauth/revoke', { token, ...bodyCredentials(client) })

async function expectDead({ access_token, refresh_token }: Tokens): Promise<void> {
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
  expect((await refresh(server, client, refresh_token)).statusCode).not.toBe(200)
}

describe('a refresh and a revocation that wait for each other', () => {
  test('the refresh first: its tokens have ended when the revocation has responded', async () => {
    const lock = await lockGrantOf(server, first.refresh_token)
    const refreshing = refresh(server, client, first.refresh_token)
    await lock.blocked(1)
    const revoking = revoke(first.refresh_token)
    await lock.blocked(2)
    await lock.release()
    expect((await revoking).statusCode).toBe(200)
    await expectDead(pairOf(await refreshing))
    await expectDead(first)
  })

  test('the revocation first: the refresh issues no active token, whatever its response', async () => {
    const lock = await lockGrantOf(server, first.refresh_token)
    const revoking = revoke(first.refresh_token)
    await lock.blocked(1)
    const refreshing = refresh(server, client, first.refresh_token)
    await lock.blocked(2)
    await lock.release()
    expect((await revoking).statusCode).toBe(200)
    const answer = await refreshing
    if (answer.statusCode === 200) await expectDead(pairOf(answer))
    else expect(answer.json().error).toBe('invalid_grant')
    await expectDead(first)
  })
})

describe('a change between the lookup of a refresh token and its rotation', () => {
  test.each<{ name: string; run(): Promise<unknown> }>([
    { name: 'its grant is revoked', run: () => revoke(first.refresh_token) },
    { name: 'its user is disabled', run: () => disable(server, 'user', userId) },
    { name: 'its user is deleted', run: () => deleteRow(server, 'user', userId) },
    { name: 'its client is disabled', run: () => disable(server, 'client', client.clientId) },
    { name: 'its client is deleted', run: () => deleteRow(server, 'client', client.clientId) }
  ])('$name: no active token is issued', async ({ run }) => {
    pauses.next = { before: 'rotate_refresh_token', run }
    const answer = await refresh(paused, client, first.refresh_token)
    expect(pauses.next).toBeUndefined()
    if (answer.statusCode === 200) await expectDead(pairOf(answer))
    else expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
    await expectDead(first)
  })

  test('a revocation: invalid_grant', async () => {
    pauses.next = { before: 'rotate_refresh_token', run: () => revoke(first.refresh_token) }
    const answer = await refresh(paused, client, first.refresh_token)
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
  })

  test('a concurrent refresh: the same tokens', async () => {
    let winner: Tokens | undefined
    pauses.next = {
      before: 'rotate_refresh_token',
      run: async () => {
        winner = pairOf(await refresh(server, client, first.refresh_token))
      }
    }
    const second = pairOf(await refresh(paused, client, first.refresh_token))
    expect([second.access_token, second.refresh_token]).toEqual([winner?.access_token, winner?.refresh_token])
  })

  test('a concurrent refresh of the token and of its successor: reuse, and all tokens end', async () => {
    let third: Tokens | undefined
    pauses.next = {
      before: 'rotate_refresh_token',
      run: async () => {
        const second = pairOf(await refresh(server, client, first.refresh_token))
        third = pairOf(await refresh(server, client, second.refresh_token))
      }
    }
    const answer = await refresh(paused, client, first.refresh_token)
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
    if (third !== undefined) await expectDead(third)
    expect(third).toBeDefined()
  })
})
