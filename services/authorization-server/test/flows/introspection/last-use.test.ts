import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { introspectionOf, obtainTokens } from '../../support/tokens.js'

let server: TestServer
let resourceServer: Credentials
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
  client = await server.createClient()
})
afterAll(() => server.close())

describe('the last use of a grant', () => {
  let accessToken: string
  let grantId: string

  beforeEach(async () => {
    accessToken = (await obtainTokens(server, client)).access_token
    const found = await introspectionOf(server, resourceServer, accessToken)
    grantId = found.active ? found.grant_id : ''
  })

  /** Introspects in another process. @returns how many grants each of its statements noted, up to its stop */
  async function notedBy(introspections: number): Promise<number[]> {
    const noted: number[] = []
    const instance = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query(statement) {
          if (statement.name === 'note_grant_use') noted.push((statement.values[0] as string[]).length)
          return database.query(statement)
        }
      })
    })
    for (let count = 0; count < introspections; count++) {
      expect((await introspectionOf(instance, resourceServer, accessToken)).active).toBe(true)
    }
    await instance.close()
    return noted
  }

  async function setLastUse(sql: string): Promise<void> {
    await server.database.query({
      name: '',
      text: `update grants set last_used_at = ${sql} where grant_id = $1`,
      values: [grantId]
    })
  }

  async function secondsSinceStored(): Promise<number> {
    const text = `select extract(epoch from now() - last_used_at)::float8 as seconds from grants where grant_id = $1`
    const [row] = await server.database.query<{ seconds: number }>({ name: '', text, values: [grantId] })
    return row?.seconds ?? Number.NaN
  }

  test('less than an hour ago: an introspection writes nothing', async () => {
    await setLastUse(`now() - interval '59 minutes'`)
    expect(await notedBy(3)).toEqual([])
    expect(await secondsSinceStored()).toBeGreaterThanOrEqual(59 * 60)
  })

  test('at the exchange: the first introspection writes nothing', async () => {
    expect(await notedBy(1)).toEqual([])
  })

  test.each([
    { name: 'more than an hour ago', sql: `now() - interval '61 minutes'` },
    { name: 'missing', sql: 'null' }
  ])('$name: several introspections write once, and later ones of any process nothing', async ({ sql }) => {
    await setLastUse(sql)
    expect(await notedBy(3)).toEqual([1])
    expect(await secondsSinceStored()).toBeLessThan(59 * 60)
    expect(await notedBy(3)).toEqual([])
  })
})
