import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { S256 } from '../../../support/authorize-cases.js'
import { post } from '../../../support/flow.js'
import { PUSHED_PATH, pushedUrl, requestOf } from '../support/pushed-requests.js'

let server: TestServer
let app: Credentials

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '0.04' })
  app = await server.createClient({ type: 'public', requiresPkce: true })
})
beforeEach(() => server.redis.flushdb())
afterAll(() => server.close())

/** The longest request that is accepted: 8,000 characters. */
function longRequest(): Record<string, string> {
  const request = { ...requestOf(app, S256), state: '' }
  return { ...request, state: 'x'.repeat(8_000 - new URLSearchParams(request).toString().length) }
}

// Of all fields: the default is to sample five.
const bytesOf = async (key: string) => Number(await server.redis.memory('USAGE', key, 'SAMPLES', 0))

test('a stranger can push as many requests as the limit says, each of 14 kB at most, also if many browsers open it', async () => {
  const answers = []
  for (let count = 0; count < 20; count++) answers.push(await post(server, PUSHED_PATH, longRequest()))
  const accepted = answers.filter(({ statusCode }) => statusCode === 201)
  expect(accepted).toHaveLength(12)
  const url = pushedUrl(app, accepted[0]?.json().request_uri)
  for (let visit = 0; visit < 40; visit++) await server.newBrowser().get(url)
  const keys = await server.redis.keys('*')
  const kinds = keys.map((key) =>
    key
      .split(':')
      .slice(0, 3)
      .join(':')
      .replace(/[0-9a-f]{64}/, '')
  )
  expect([...new Set(kinds)].sort()).toEqual(['vk:attempts:push-address', 'vk:par:'])
  expect(keys).toHaveLength(13)
  for (const key of keys) {
    expect(await bytesOf(key)).toBeLessThan(14_000)
    expect(await server.redis.ttl(key)).toBeLessThanOrEqual(3_690)
  }
})
