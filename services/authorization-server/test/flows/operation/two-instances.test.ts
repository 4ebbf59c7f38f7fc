import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { grantOf, kindOf, PKCE, VERIFIER } from '../../support/codes.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { isActive, pairOf } from '../../support/tokens.js'

const USED = { redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 }

let instances: readonly [TestServer, TestServer]
let server: TestServer
let client: Credentials
let resourceServer: Credentials
const right = { code_verifier: VERIFIER }

beforeAll(async () => {
  server = await startTestServer()
  // This is so long that no code expires on a slow machine.
  const config = { codeTtl: 3_600 }
  instances = [await startInstance(server, { config }), await startInstance(server, { config })]
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(async () => {
  for (const instance of instances) await instance.close()
  await server.close()
})

type Answer = Awaited<ReturnType<typeof exchange>>

const inParallel = (count: number, request: (instance: TestServer, index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => request(index % 2 ? instances[1] : instances[0], index)))

const newCode = () => obtainCode(instances[0], client, { change: PKCE })

function count(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of answers.map(kindOf)) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

describe('two instances on the same stores', () => {
  let code: string
  beforeEach(async () => {
    code = await newCode()
  })

  test.each(Array.from({ length: 5 }, (_, round) => ({ round })))(
    '50 concurrent exchanges of one code: one 200 and 49 invalid_grant, and its tokens end, round $round',
    async () => {
      const answers = await inParallel(50, (instance) => exchange(instance, client, code, right))
      expect(count(answers)).toEqual({ '200': 1, '400 invalid_grant': 49 })
      const descriptions = answers.filter(({ statusCode }) => statusCode === 400)
      expect(new Set(descriptions.map((each) => each.json().error_description))).toEqual(
        new Set(['authorization code was already used'])
      )
      const winner = answers.find(({ statusCode }) => statusCode === 200) as Answer
      expect(await isActive(server, resourceServer, pairOf(winner).access_token)).toBe(false)
      expect(await grantOf(server, code)).toEqual(USED)
    }
  )

  test('a code of one instance is redeemed at the other; its replay at the first ends the tokens at both', async () => {
    const { access_token } = pairOf(await exchange(instances[1], client, code, right))
    expect(await isActive(instances[0], resourceServer, access_token)).toBe(true)
    expect(kindOf(await exchange(instances[0], client, code, right))).toBe('400 invalid_grant')
    for (const instance of instances) expect(await isActive(instance, resourceServer, access_token)).toBe(false)
  })

  test('one valid exchange among 49 invalid ones succeeds, and its tokens stay active', async () => {
    const stranger = await server.createClient()
    const wrong = [{ code_verifier: '' }, { ...right, redirect_uri: 'https://app.example/other' }]
    const answers = await inParallel(50, (instance, index) => {
      if (index === 25) return exchange(instance, client, code, right)
      return index % 3 ? exchange(instance, client, code, wrong[index % 2]) : exchange(instance, stranger, code, right)
    })
    expect(count(answers)).toEqual({ '200': 1, '400 invalid_grant': 49 })
    expect(kindOf(answers[25] as Answer)).toBe('200')
    expect(await isActive(server, resourceServer, pairOf(answers[25] as Answer).access_token)).toBe(true)
    expect(await grantOf(server, code)).toEqual({ ...USED, ended: false })
  })

  test('50 exchanges while Redis repeatedly loses its data: at most one 200 and one pair of tokens', async () => {
    const answers = inParallel(50, async (instance, index) => {
      if (index % 10 === 9) await server.redis.flushdb()
      return exchange(instance, client, code, right)
    })
    const counts = count(await answers)
    expect(Object.keys(counts).filter((kind) => !['200', '400 invalid_grant'].includes(kind))).toEqual([])
    expect(counts['200'] ?? 0).toBeLessThanOrEqual(1)
    // Without an exchange there is no grant.
    expect((await grantOf(server, code))?.accessTokens ?? 0).toBe(counts['200'] ?? 0)
  })
})

test('40 codes, each with 25 concurrent exchanges at both instances: 40 times 200 and one pair of tokens each', async () => {
  const seen = []
  for (let round = 0; round < 20; round++) {
    const codes = [await newCode(), await newCode()]
    const answers = await Promise.all(
      codes.map((code) => inParallel(25, (instance) => exchange(instance, client, code, right)))
    )
    seen.push(...answers.map(count))
    for (const code of codes) expect(await grantOf(server, code)).toEqual(USED)
  }
  expect(seen).toEqual(Array(40).fill({ '200': 1, '400 invalid_grant': 24 }))
})
