import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import type { Statement } from '@valetkey/service-kit'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { isBackground } from '../../support/background-statements.js'
import { auditOf, grantOf, kindOf, PKCE, unknownCode, VERIFIER } from '../../support/codes.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, post } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'
import { expectRefusal } from '../../support/refusals.js'
import { createPublicClient, disable, enable, isActive, pairOf } from '../../support/tokens.js'

let server: TestServer
let client: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

describe('secrets, client types and order of checks', () => {
  /** Notes the names of its statements. */
  let watched: TestServer
  let statements: string[]

  beforeAll(async () => {
    watched = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query(statement: Statement) {
          if (!isBackground(statement.name)) statements.push(statement.name)
          return database.query(statement)
        }
      })
    })
  })
  beforeEach(async () => {
    client = await server.createClient()
    code = await obtainCode(server, client)
    statements = []
  })
  afterAll(() => watched.close())

  const SECRET = 'vk_cs_a-secret-that-an-operator-made'

  async function addSecret(secret: string, expiresIn: number | undefined): Promise<void> {
    await server.database.query({
      name: 'test_add_secret',
      text: `insert into client_secrets (client_id, secret_hash, created_at, expires_at)
      values ($1, $2, now(), now() + make_interval(secs => $3))`,
      values: [client.clientId, hashToken(secret), expiresIn]
    })
  }

  describe('client with several secrets (contract 2, "Client authentication")', () => {
    const exchangeWith = (clientSecret: string) => exchange(server, { ...client, clientSecret }, code)

    test.each(['the first', 'the second'])('both live secrets are valid: %s', async (which) => {
      await addSecret(SECRET, 60)
      expect(kindOf(await exchangeWith(which === 'the first' ? client.clientSecret : SECRET))).toBe('200')
    })

    test('an expired secret is refused, and the other is valid', async () => {
      await addSecret(SECRET, -1)
      expectRefusal(await exchangeWith(SECRET), 401, 'invalid_client')
      expect(kindOf(await exchangeWith(client.clientSecret))).toBe('200')
    })

    test('two live secrets and an expired one', async () => {
      await addSecret(SECRET, undefined)
      await addSecret(`${SECRET}-old`, -3600)
      expectRefusal(await exchangeWith(`${SECRET}-old`), 401, 'invalid_client')
      expect(kindOf(await exchangeWith(SECRET))).toBe('200')
    })

    test('no live secret: invalid_client', async () => {
      await server.database.query({
        name: 'test_expire_secrets',
        text: `update client_secrets set expires_at = now() - interval '1 second' where client_id = $1`,
        values: [client.clientId]
      })
      expectRefusal(await exchangeWith(client.clientSecret), 401, 'invalid_client')
    })
  })

  describe('client type and state', () => {
    test('a disabled client is refused like an unknown one; when enabled, it is valid, and earlier codes have ended', async () => {
      await disable(server, 'client', client.clientId)
      expectRefusal(await exchange(server, client, code), 401, 'invalid_client', 'Client authentication failed.')
      await enable(server, 'client', client.clientId)
      expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
    })

    test.each([
      { name: 'its id alone', form: (id: string) => ({ client_id: id }), headers: () => ({}), kind: '200' },
      {
        name: 'its id and an empty secret',
        form: (id: string) => ({ client_id: id, client_secret: '' }),
        headers: () => ({}),
        kind: '200'
      },
      {
        name: 'Basic with an empty secret',
        form: () => ({}),
        headers: (id: string) => basic({ clientId: id, clientSecret: '' }),
        kind: '200'
      },
      {
        name: 'a secret',
        form: (id: string) => ({ client_id: id, client_secret: SECRET }),
        headers: () => ({}),
        kind: '401 invalid_client'
      },
      {
        name: 'a secret in Basic',
        form: () => ({}),
        headers: (id: string) => basic({ clientId: id, clientSecret: SECRET }),
        kind: '401 invalid_client'
      }
    ])('a public client with $name: $kind (RFC 6749 §2.1)', async ({ form, headers, kind }) => {
      const { clientId } = await createPublicClient(server)
      const own = await obtainCode(server, { clientId, clientSecret: '' }, { change: PKCE })
      const right = { grant_type: 'authorization_code', code: own, redirect_uri: 'https://app.example/callback' }
      const answer = await post(
        server,
        '/token',
        { ...right, code_verifier: VERIFIER, ...form(clientId) },
        headers(clientId)
      )
      expect(kindOf(answer)).toBe(kind)
    })
  })

  /** The response without `date` and `x-request-id`. */
  function lasting(answer: LightMyRequestResponse) {
    const { date: _, 'x-request-id': __, ...headers } = answer.headers
    return { status: answer.statusCode, headers, body: answer.body }
  }

  describe('the response is the same for every authentication failure', () => {
    test.each([
      { how: 'in the body', send: (wrong: Credentials) => exchange(watched, wrong, code) },
      {
        how: 'in the header',
        send: (wrong: Credentials) => post(watched, '/token', { grant_type: 'authorization_code', code }, basic(wrong))
      }
    ])('$how: status, headers, body and statements are the same', async ({ send }) => {
      const disabled = await server.createClient()
      await disable(server, 'client', disabled.clientId)
      const wrongs: Credentials[] = [
        { ...client, clientSecret: SECRET },
        { clientId: `client_${randomUUID()}`, clientSecret: client.clientSecret },
        { ...client, clientSecret: '' },
        disabled,
        { ...(await createPublicClient(server)), clientSecret: SECRET }
      ]
      const seen = []
      for (const wrong of wrongs) {
        statements = []
        seen.push({ ...lasting(await send(wrong)), statements })
      }
      for (const each of seen) expect(each).toEqual(seen[0])
      expect(seen[0]).toMatchObject({ status: 401, statements: ['find_client_with_secrets'] })
    })
  })

  describe('the order of checks: form, client, grant type, parameters, code', () => {
    const wrong = { client_secret: 'wrong' }
    test.each<{ name: string; change: Record<string, string>; kind: string; statements: string[] }>([
      {
        name: 'a wrong client with an unknown grant type',
        change: { ...wrong, grant_type: 'password' },
        ...client401()
      },
      { name: 'a wrong client without a code', change: { ...wrong, code: '' }, ...client401() },
      { name: 'a wrong client with an unknown code', change: { ...wrong, code: unknownCode() }, ...client401() },
      { name: 'a wrong client with a malformed code', change: { ...wrong, code: 'x' }, ...client401() },
      { name: 'a wrong client with a right code', change: wrong, ...client401() },
      {
        name: 'an unknown grant type without a code',
        change: { grant_type: 'x', code: '' },
        ...right('unsupported_grant_type')
      },
      {
        name: 'no redirect_uri with a malformed code',
        change: { redirect_uri: '', code: 'x' },
        ...right('invalid_request')
      },
      {
        name: 'a malformed verifier with a malformed code',
        change: { code_verifier: 'x', code: 'x' },
        ...right('invalid_grant')
      },
      {
        name: 'a malformed code with another resource',
        change: { resource: 'x', code: 'x' },
        ...right('invalid_grant')
      }
    ])('$name: $kind', async ({ change, kind, statements: expected }) => {
      expect(kindOf(await exchange(watched, client, code, change))).toBe(kind)
      expect(statements).toEqual(expected)
      expect(kindOf(await exchange(server, client, code))).toBe('200')
    })

    function client401() {
      return { kind: '401 invalid_client', statements: ['find_client_with_secrets'] }
    }
    function right(error: string) {
      return { kind: `400 ${error}`, statements: ['find_client_with_secrets'] }
    }

    test('a failed authentication with a used code: 401, and the tokens stay active', async () => {
      const resourceServer = await server.createResourceServer()
      const { access_token } = pairOf(await exchange(server, client, code))
      expectRefusal(await exchange(server, client, code, wrong), 401, 'invalid_client')
      expectRefusal(await post(server, '/token', { ...bodyCredentials(client), ...wrong, code }), 401, 'invalid_client')
      expect(await isActive(server, resourceServer, access_token)).toBe(true)
      expect(await grantOf(server, code)).toMatchObject({ redeemed: true, ended: false })
    })
  })
})

describe('authentication methods', () => {
  let port: number
  let other: Credentials

  beforeAll(async () => {
    port = await listenOnFreePort(server.publicServer)
    client = await server.createClient()
    other = await server.createClient()
  })
  beforeEach(async () => {
    code = await obtainCode(server, client)
  })

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
      {
        name: 'Basic and the same client_id',
        presented: () => ({ headers: basic(client), form: { client_id: id() } })
      },
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
})
