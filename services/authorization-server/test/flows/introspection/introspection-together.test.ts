import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, introspect, PASSWORD } from '../../support/flow.js'
import { obtainTokens } from '../../support/tokens.js'

let server: TestServer
let resourceServer: Credentials
let tokens: string[]

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  const client = await server.createClient()
  resourceServer = await server.createResourceServer()
  tokens = []
  for (let count = 0; count < 3; count++) tokens.push((await obtainTokens(server, client)).access_token)
})
afterAll(() => server.close())

const send = (payload: string, headers: Record<string, string> = basic(resourceServer)) =>
  server.internalServer.inject({
    method: 'POST',
    url: '/introspections',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload
  })

test('several tokens in one request: the same results as in single requests, in order', async () => {
  const never = newOpaqueAccessToken(new Date(Date.now() + 60_000), randomBytes)
  const asked = [tokens[0], never, tokens[1], 'nonsense', tokens[2], tokens[0]] as string[]
  const alone = await Promise.all(asked.map(async (token) => (await introspect(server, resourceServer, token)).json()))
  const answer = await send(`tokens=${asked.join('+')}`)
  expect([answer.statusCode, answer.json()]).toEqual([200, alone])
  expect(alone.map(({ active }) => active)).toEqual([true, false, true, false, true, true])
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
})

test('a caller with another audience gets only inactive results', async () => {
  const other = await server.createResourceServer('https://other.example')
  const answer = await send(`tokens=${tokens.join('+')}`, basic(other))
  expect(answer.json()).toEqual(tokens.map(() => ({ active: false })))
})

describe('a list request is refused as a whole', () => {
  test.each([
    { name: 'without credentials', payload: 'tokens=a', headers: {}, status: 401, error: 'invalid_client' },
    { name: 'no tokens', payload: 'token=a', status: 400, error: 'invalid_request' },
    { name: 'an empty tokens parameter', payload: 'tokens=', status: 400, error: 'invalid_request' },
    { name: 'two tokens parameters', payload: 'tokens=a&tokens=b', status: 400, error: 'invalid_request' },
    { name: 'an invalid percent-encoding', payload: 'tokens=%zz', status: 400, error: 'invalid_request' },
    { name: '65 tokens', payload: `tokens=${'a+'.repeat(64)}a`, status: 400, error: 'invalid_request' },
    { name: 'more than 16 KiB', payload: `tokens=${'a'.repeat(17_000)}`, status: 413, error: 'invalid_request' }
  ])('$name: $status $error', async ({ payload, headers, status, error }) => {
    const answer = await send(payload, headers ?? basic(resourceServer))
    expect([answer.statusCode, answer.json()]).toEqual([
      status,
      { error, error_description: expect.any(String), error_uri: `${ISSUER}/errors/${error}` }
    ])
  })
})

test('lists are accepted only with POST on the internal listener', async () => {
  const get = await server.internalServer.inject('/introspections')
  expect([get.statusCode, get.headers.allow]).toEqual([405, 'POST'])
  const elsewhere = await server.publicServer.inject({ method: 'POST', url: '/introspections' })
  expect(elsewhere.statusCode).toBe(404)
})
