import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { auditOf, kindOf } from '../../support/codes.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'
import { expectRefusal } from '../../support/refusals.js'

let server: TestServer
let port: number
let client: Credentials
let other: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  port = await listenOnFreePort(server.publicServer)
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  other = await server.createClient()
})
beforeEach(async () => {
  code = await obtainCode(server, client)
})
afterAll(() => server.close())

type Presented = { headers?: Record<string, string>; form?: Record<string, string> }

const basicOf = (userPass: string, scheme = 'Basic') => ({
  authorization: `${scheme} ${Buffer.from(userPass).toString('base64')}`
})
const percent = (text: string) => [...text].map((each) => `%${each.charCodeAt(0).toString(16)}`).join('')

/** The exchange with no credentials but the given ones. */
function present({ headers = {}, form = {} }: Presented): Promise<LightMyRequestResponse> {
  return server.publicServer.inject({
    method: 'POST',
    url: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: rightForm(form)
  })
}

const rightForm = (form: Record<string, string>) =>
  new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...form }).toString()

async function expectCodeUnused(): Promise<void> {
  expect(kindOf(await exchange(server, client, code))).toBe('200')
}

// A former constant padding secret; it must never authenticate.
const PADDING = 'compared with when there is nothing to compare with'

type Row = { name: string; presented(): Presented }

describe('accepted authentication of a confidential client (RFC 6749 §2.3.1)', () => {
  const id = () => client.clientId
  const secret = () => client.clientSecret
  test.each<Row>([
    { name: 'id and secret in the body', presented: () => ({ form: bodyCredentials(client) }) },
    { name: 'Basic', presented: () => ({ headers: basic(client) }) },
    {
      name: 'Basic, form-encoded',
      presented: () => ({ headers: basicOf(`${percent(id())}:${percent(secret())}`) })
    },
    { name: 'basic', presented: () => ({ headers: basicOf(`${id()}:${secret()}`, 'basic') }) },
    { name: 'BASIC', presented: () => ({ headers: basicOf(`${id()}:${secret()}`, 'BASIC') }) },
    { name: 'Basic and several spaces', presented: () => ({ headers: basicOf(`${id()}:${secret()}`, 'Basic  ') }) },
    { name: 'Basic and the same client_id', presented: () => ({ headers: basic(client), form: { client_id: id() } }) },
    {
      name: 'Basic and an empty client_id and client_secret',
      presented: () => ({ headers: basic(client), form: { client_id: '', client_secret: '' } })
    }
  ])('$name', async ({ presented }) => {
    const answer = await present(presented())
    expect(kindOf(answer)).toBe('200')
    expect(answer.headers).not.toHaveProperty('www-authenticate')
  })
})

const CHALLENGE = 'Basic realm="valetkey", charset="UTF-8"'

describe('failed authentication: 401 invalid_client, with a challenge if the header was used; the code stays usable', () => {
  const id = () => client.clientId
  const secret = () => client.clientSecret
  const header = (authorization: string): Presented => ({ headers: { authorization } })
  const body = (clientId: string, clientSecret?: string): Presented => ({
    form: { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  })
  const userPass = (text: string): Presented => ({ headers: basicOf(text) })
  const upper = () => id().toUpperCase()

  test.each<Row & { reason: string }>([
    { name: 'nothing', presented: () => ({}), reason: 'no_credentials' },
    { name: 'a secret alone', presented: () => ({ form: { client_secret: secret() } }), reason: 'no_credentials' },
    { name: 'an id alone', presented: () => body(id()), reason: 'wrong_authentication_method' },
    { name: 'an empty secret', presented: () => body(id(), ''), reason: 'wrong_authentication_method' },
    { name: 'a wrong secret', presented: () => body(id(), 'wrong'), reason: 'wrong_secret' },
    {
      name: 'what was once compared with instead of no secret',
      presented: () => body(id(), PADDING),
      reason: 'wrong_secret'
    },
    { name: 'another client’s secret', presented: () => body(id(), other.clientSecret), reason: 'wrong_secret' },
    { name: 'a secret and a space', presented: () => body(id(), `${secret()} `), reason: 'wrong_secret' },
    { name: 'a space and a secret', presented: () => body(id(), ` ${secret()}`), reason: 'wrong_secret' },
    { name: 'a secret but its end', presented: () => body(id(), secret().slice(0, -1)), reason: 'wrong_secret' },
    { name: 'a secret in upper case', presented: () => body(id(), secret().toUpperCase()), reason: 'wrong_secret' },
    { name: 'an unknown client', presented: () => body('unknown', secret()), reason: 'unknown_client' },
    { name: 'an id in upper case', presented: () => body(upper(), secret()), reason: 'unknown_client' },
    { name: 'an id and a space', presented: () => body(`${id()} `, secret()), reason: 'unknown_client' },
    { name: 'a space and an id', presented: () => body(` ${id()}`, secret()), reason: 'unknown_client' },
    { name: 'an id and a full stop', presented: () => body(`${id()}.`, secret()), reason: 'unknown_client' },
    { name: 'a wildcard for an id', presented: () => body('%', secret()), reason: 'unknown_client' },
    { name: 'a very long id', presented: () => body('x'.repeat(5_000), secret()), reason: 'unknown_client' },
    { name: 'SQL for an id', presented: () => body(`' or '1'='1`, secret()), reason: 'unknown_client' }
  ])('in the body: $name', async ({ presented, reason }) => {
    const answer = await present(presented())
    expectRefusal(answer, 401, 'invalid_client', 'Client authentication failed.')
    expect(answer.headers).not.toHaveProperty('www-authenticate')
    expect(await auditOf(server, answer)).toEqual([{ event: 'request_refused', reason }])
    await expectCodeUnused()
  })

  test.each<Row & { reason: string }>([
    { name: 'a wrong secret', presented: () => userPass(`${id()}:wrong`), reason: 'wrong_secret' },
    { name: 'an unknown client', presented: () => userPass(`unknown:${secret()}`), reason: 'unknown_client' },
    { name: 'an id in upper case', presented: () => userPass(`${upper()}:${secret()}`), reason: 'unknown_client' },
    { name: 'an id and a space', presented: () => userPass(`${id()} :${secret()}`), reason: 'unknown_client' },
    { name: 'an id and a plus', presented: () => userPass(`${id()}+:${secret()}`), reason: 'unknown_client' },
    { name: 'an empty secret', presented: () => userPass(`${id()}:`), reason: 'wrong_authentication_method' },
    { name: 'no colon', presented: () => userPass(`${id()}${secret()}`), reason: 'bad_basic' },
    { name: 'no id', presented: () => userPass(`:${secret()}`), reason: 'bad_basic' },
    { name: 'a NUL', presented: () => userPass(`${id()}\0:${secret()}`), reason: 'bad_basic' },
    { name: 'an encoded NUL', presented: () => userPass(`${id()}%00:${secret()}`), reason: 'bad_basic' },
    { name: 'a line break after it', presented: () => userPass(`${id()}:${secret()}\n`), reason: 'bad_basic' },
    { name: 'no credentials', presented: () => header('Basic'), reason: 'bad_basic' },
    { name: 'a space', presented: () => header('Basic '), reason: 'bad_basic' },
    { name: 'no base64', presented: () => header('Basic !!!'), reason: 'bad_basic' },
    { name: 'id and secret as they are', presented: () => header(`Basic ${id()}:${secret()}`), reason: 'bad_basic' },
    { name: 'bytes that are not UTF-8', presented: () => header('Basic //86//8='), reason: 'bad_basic' },
    {
      name: 'two credentials',
      presented: () => header(`${basic(client).authorization}, ${basic(client).authorization}`),
      reason: 'bad_basic'
    },
    {
      name: 'Bearer',
      presented: () => ({ headers: basicOf(`${id()}:${secret()}`, 'Bearer') }),
      reason: 'other_scheme'
    },
    {
      name: 'Basicx',
      presented: () => ({ headers: basicOf(`${id()}:${secret()}`, 'Basicx') }),
      reason: 'other_scheme'
    },
    { name: 'no scheme', presented: () => header(Buffer.from('a:b').toString('base64')), reason: 'other_scheme' },
    {
      name: 'Bearer with right credentials in the body',
      presented: () => ({ headers: { authorization: 'Bearer x' }, form: bodyCredentials(client) }),
      reason: 'other_scheme'
    }
  ])('in the header: $name', async ({ presented, reason }) => {
    const answer = await present(presented())
    expectRefusal(answer, 401, 'invalid_client', 'Client authentication failed.')
    expect(answer.headers['www-authenticate']).toBe(CHALLENGE)
    expect(await auditOf(server, answer)).toEqual([{ event: 'request_refused', reason }])
    await expectCodeUnused()
  })
})

describe('two authentication methods: 400 invalid_request, and the code stays usable (RFC 6749 §2.3)', () => {
  test.each<Row>([
    {
      name: 'Basic and the same in the body',
      presented: () => ({ headers: basic(client), form: bodyCredentials(client) })
    },
    {
      name: 'Basic and another client_id',
      presented: () => ({ headers: basic(client), form: { client_id: 'other' } })
    },
    {
      name: 'Basic and the client_id in upper case',
      presented: () => ({ headers: basic(client), form: { client_id: client.clientId.toUpperCase() } })
    },
    { name: 'Basic and a secret alone', presented: () => ({ headers: basic(client), form: { client_secret: 'x' } }) },
    {
      name: 'wrong Basic and right credentials in the body',
      presented: () => ({ headers: basicOf(`${client.clientId}:wrong`), form: bodyCredentials(client) })
    }
  ])('$name', async ({ presented }) => {
    const answer = await present(presented())
    expectRefusal(answer, 400, 'invalid_request')
    expect(answer.headers).not.toHaveProperty('www-authenticate')
    await expectCodeUnused()
  })

  test.each([
    { name: 'twice the same', second: () => basic(client).authorization },
    { name: 'right and wrong', second: () => 'Basic eDp5' },
    { name: 'Basic and Bearer', second: () => 'Bearer x' },
    { name: 'right and empty', second: () => '' }
  ])('two Authorization headers, $name', async ({ second }) => {
    const body = rightForm({})
    const lines = [
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
      `Authorization: ${basic(client).authorization}`,
      `authorization: ${second()}`
    ]
    const { answers } = await sendRaw(port, rawRequest('POST /token', lines, body), { quietMs: 60 })
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error: 'invalid_request' })
    await expectCodeUnused()
  })
})
