import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { introspect, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { isActive, obtainTokens, type Tokens } from '../../support/tokens.js'

let server: TestServer
let shaky: TestServer
let proxy: PostgresProxy
let resourceServer: Credentials
let tokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  proxy = await startPostgresProxy(server.config.databaseUrl)
  shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
  tokens = await obtainTokens(server, await server.createClient())
})
afterEach(() => proxy.repair())
afterAll(async () => {
  await shaky.close()
  await proxy.close()
  await server.close()
})

const A_TOKEN = [expect.stringMatching(/^find_for_introspection_in_access_tokens_\d+$/)]

describe('lookups of an introspection request (contract 2, "Tokens")', () => {
  test.each<{ name: string; by(): Credentials; value(): string; looks: unknown[] }>([
    {
      name: 'a malformed client id: no lookup',
      by: () => ({ clientId: 'rs unknown', clientSecret: 'x' }),
      value: () => tokens.access_token,
      looks: []
    },
    {
      name: 'a caller with a wrong secret: no lookup of the token',
      by: () => ({ ...resourceServer, clientSecret: 'wrong' }),
      value: () => tokens.access_token,
      looks: []
    },
    {
      name: 'an unknown client id: no lookup of the token',
      by: () => ({ ...resourceServer, clientId: 'rs_unknown' }),
      value: () => tokens.access_token,
      looks: []
    },
    {
      name: 'a token with a wrong checksum: no lookup',
      by: () => resourceServer,
      value: () => tokens.access_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      looks: []
    },
    {
      name: 'a refresh token: no lookup',
      by: () => resourceServer,
      value: () => tokens.refresh_token,
      looks: []
    },
    {
      name: 'an active token: one lookup',
      by: () => resourceServer,
      value: () => tokens.access_token,
      looks: A_TOKEN
    }
  ])('$name', async ({ by, value, looks }) => {
    const asked: unknown[] = []
    const instance = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query(statement) {
          if (statement.name !== 'find_resource_server') asked.push(statement.name)
          return database.query(statement)
        }
      })
    })
    await introspect(instance, by(), value())
    expect(asked).toEqual(looks)
    await instance.close()
  })
})

describe('introspection while Postgres is unavailable', () => {
  test('503 with Retry-After, never {"active":false}', async () => {
    proxy.cut()
    const answer = await introspect(shaky, resourceServer, tokens.access_token)
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(answer.body).not.toContain('active')
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    proxy.repair()
    expect(await isActive(shaky, resourceServer, tokens.access_token)).toBe(true)
  })

  test('the lookup statement is lost: 503', async () => {
    proxy.loseStatement('find_for_introspection')
    const answer = await introspect(shaky, resourceServer, tokens.access_token)
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(answer.body).not.toContain('active')
    expect(await isActive(shaky, resourceServer, tokens.access_token)).toBe(true)
  })
})
