import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { hashPassword } from '../../../src/platform/passwords/password.js'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import { createLimiter, TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import { signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { COOKIES, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { clearCounters, countCounters, counterOf, setCounter } from '../../support/counters.js'
import { PASSWORD } from '../../support/flow.js'
import { insertUser } from '../../support/insert-user.js'
import { startInstance } from '../../support/instance.js'
import { type Attempt, attemptSignIn } from '../../support/sign-in.js'

const HERE = '192.0.2.1'
const ELSEWHERE = '198.51.100.1'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
})
afterAll(() => server.close())
afterEach(async () => {
  jest.restoreAllMocks()
  await clearCounters(server)
})

const [PAIR, ADDRESS, ACCOUNT] = [0, 1, 2] as const

/** The counter of one kind for an account, as an address sees it. */
const counter = (kind: number, account = 'alice', address = HERE) =>
  signInLimits(canonicalName(account), address, false)[kind]

async function statusOf(change: Partial<Attempt> = {}, instance = server): Promise<number> {
  return (await attemptSignIn(instance, { username: 'alice', password: 'wrong', ...change })).statusCode
}

describe('limits of failed sign-ins (contract "Limits")', () => {
  test('20 for an account from an address: the 21st is refused, even with the correct password', async () => {
    for (let attempt = 1; attempt <= 20; attempt++) expect(await statusOf()).toBe(422)
    expect(await statusOf()).toBe(429)
    expect(await statusOf({ password: PASSWORD })).toBe(429)
    expect(await statusOf({ username: 'bob', password: PASSWORD })).toBe(303)
  })

  test('of 30 concurrent wrong passwords exactly 20 are checked', async () => {
    const statuses = await Promise.all(Array.from({ length: 30 }, () => statusOf()))
    expect(statuses.filter((status) => status === 422)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
  })

  test.each([
    { name: '20 for an account from an address', kind: PAIR, most: 20 },
    { name: '100 from an address', kind: ADDRESS, most: 100 },
    { name: '200 for an account', kind: ACCOUNT, most: 200 }
  ])('$name: the last one is checked, the next is refused', async ({ kind, most }) => {
    await setCounter(server, counter(kind), most - 1)
    expect(await statusOf()).toBe(422)
    expect(await statusOf()).toBe(429)
  })

  test.each([
    { name: 'of the account from this address', exceeded: PAIR, most: 20, others: [ADDRESS, ACCOUNT] },
    { name: 'of the address', exceeded: ADDRESS, most: 100, others: [PAIR, ACCOUNT] },
    { name: 'of the account', exceeded: ACCOUNT, most: 200, others: [PAIR, ADDRESS] }
  ])(
    'an attempt over the limit $name counts for no other limit, because it was not evaluated',
    async ({ exceeded, most, others }) => {
      await setCounter(server, counter(exceeded), most)
      for (let attempt = 1; attempt <= 3; attempt++) expect(await statusOf()).toBe(429)
      for (const other of others) expect(await counterOf(server, counter(other))).toBe(0)
    }
  )

  test('failures of one address do not lock the account for other addresses', async () => {
    for (let batch = 0; batch < 23; batch++) await Promise.all(Array.from({ length: 10 }, () => statusOf()))
    expect(await statusOf()).toBe(429)
    expect(await statusOf({ password: PASSWORD, address: ELSEWHERE })).toBe(303)
  })

  test('failures for an unknown account are counted in the same way', async () => {
    await setCounter(server, counter(PAIR, 'unknown'), 19)
    expect([await statusOf({ username: 'unknown' }), await statusOf({ username: 'unknown' })]).toEqual([422, 429])
    await setCounter(server, counter(ACCOUNT, 'ghost'), 200)
    expect(await statusOf({ username: 'ghost' })).toBe(429)
  })

  test('an account is counted in its normalised form', async () => {
    await setCounter(server, counter(PAIR, 'zo\u00eb'), 20)
    for (const username of ['zo\u00eb', ' zo\u00eb ', 'zoe\u0308']) expect(await statusOf({ username })).toBe(429)
  })

  test('a refused attempt causes no account lookup and no hash', async () => {
    await setCounter(server, counter(PAIR), 20)
    const look = jest.spyOn(server.deps.login.users, 'findForSignIn')
    expect(await statusOf({ password: PASSWORD })).toBe(429)
    expect(look).not.toHaveBeenCalled()
    await clearCounters(server)
    expect(await statusOf({ password: PASSWORD })).toBe(303)
    expect(look).toHaveBeenCalledTimes(1)
  })

  test('only failures count: 25 sign-ins in a row create no counter', async () => {
    for (let attempt = 1; attempt <= 25; attempt++) expect(await statusOf({ password: PASSWORD })).toBe(303)
    expect(await countCounters(server)).toBe(0)
  })

  /** Its attempts wait as long as they need, independent of the speed of this machine. */
  async function startPatientInstance(): Promise<TestServer> {
    const patient = await startInstance(server)
    const [{ login }, counters] = [patient.deps, createAttemptCounterStore(server.redis)]
    login.limiter = createLimiter(counters, 1, () => {}, { milliseconds: 600_000, attempts: 130 })
    login.passwordQueue = createPasswordQueue({ atOnce: 2, bytes: 2 ** 29, waiting: 100, milliseconds: 600_000 })
    return patient
  }

  test('41 concurrent correct sign-ins to one account all succeed (contract "Limits")', async () => {
    const patient = await startPatientInstance()
    const attempts = Array.from({ length: 41 }, () => statusOf({ password: PASSWORD }, patient))
    expect(await Promise.all(attempts)).toEqual(Array(41).fill(303))
    await patient.close()
    expect(await countCounters(server)).toBe(0)
  })

  test('230 users behind one address sign in concurrently, and all succeed (contract "Limits")', async () => {
    const passwordHash = await hashPassword(PASSWORD)
    const users = Array.from({ length: 230 }, (_, index) => `user${index}`)
    const user = { passwordHash, createdAt: new Date() }
    await Promise.all(users.map((username) => insertUser(server.database, { userId: randomUUID(), username, ...user })))
    const patient = await startPatientInstance()
    const attempts = users.map((username) => statusOf({ username, password: PASSWORD }, patient))
    expect(await Promise.all(attempts)).toEqual(Array(230).fill(303))
    await patient.close()
  })

  test('an attempt that waits too long gets a page with 503 and Retry-After, and is not counted', async () => {
    const full = {
      attempt: async () => Promise.reject(new TooManyAttempts(5, 'too_many_at_once')),
      count: async () => {}
    }
    const { login } = server.deps
    const { limiter } = login
    login.limiter = full
    const answer = await attemptSignIn(server, { username: 'alice', password: PASSWORD })
    login.limiter = limiter
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5'])
    expect(answer.body).toContain('The queue is full, so your password was not checked.')
  })

  test('each counter of a failure is small', async () => {
    await statusOf()
    const keys = await server.redis.keys('vk:attempts:*')
    expect(keys).toHaveLength(3)
    // Redis adds about 100 bytes to each.
    for (const key of keys) expect(key.length).toBeLessThan(70)
  })

  test('a success does not reduce the count', async () => {
    await setCounter(server, counter(PAIR), 7)
    expect(await statusOf({ password: PASSWORD })).toBe(303)
    expect(await counterOf(server, counter(PAIR))).toBe(7)
  })

  test('an attempt that fails because of an outage is not counted', async () => {
    jest.spyOn(server.deps.login.users, 'findForSignIn').mockRejectedValueOnce(new Error('away'))
    expect(await statusOf()).toBe(500)
    expect(await countCounters(server)).toBe(0)
  })
})

describe('one user cannot lock another out', () => {
  test('a victim signs in from another address while the attacker’s is rate limited', async () => {
    await setCounter(server, counter(PAIR), 20)
    await setCounter(server, counter(ADDRESS), 100)
    expect(await statusOf({ password: PASSWORD })).toBe(429)
    expect(await statusOf({ password: PASSWORD, address: ELSEWHERE })).toBe(303)
  })

  test('after 200 failures over all addresses, a known browser is admitted and another is refused', async () => {
    const before = await attemptSignIn(server, { username: 'alice', password: PASSWORD })
    const known = before.cookies.find(({ name }) => name === COOKIES.knownAccounts)?.value ?? ''
    expect(known).not.toBe('')
    await setCounter(server, counter(ACCOUNT), 200)
    await setCounter(server, counter(ACCOUNT, 'bob'), 200)
    expect(await statusOf({ password: PASSWORD })).toBe(429)
    const cookies = { [COOKIES.knownAccounts]: known }
    expect(await statusOf({ password: PASSWORD, cookies })).toBe(303)
    // The cookie counts only for that account; the other limits apply as well.
    expect(await statusOf({ username: 'bob', password: PASSWORD, cookies })).toBe(429)
    expect(await statusOf({ password: PASSWORD, cookies: { [COOKIES.knownAccounts]: `A${known.slice(1)}` } })).toBe(429)
    await setCounter(server, counter(PAIR), 20)
    expect(await statusOf({ password: PASSWORD, cookies })).toBe(429)
  })
})

describe('an exhausted rate limit', () => {
  test('returns a page with 429, Retry-After in seconds and the minutes to wait', async () => {
    await setCounter(server, counter(PAIR), 20, 125_000)
    const answer = await attemptSignIn(server, { username: 'alice', password: PASSWORD })
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8'])
    const seconds = Number(answer.headers['retry-after'])
    expect(seconds).toBeGreaterThan(119)
    expect(seconds).toBeLessThanOrEqual(125)
    expect(answer.body).toContain('Try again in 3 minutes.')
    expect(answer.headers).not.toHaveProperty('location')
    expect(answer.cookies.map(({ name }) => name)).not.toContain(COOKIES.session)
  })

  test('returns the longest wait if several limits are exhausted', async () => {
    await setCounter(server, counter(PAIR), 20, 10_000)
    await setCounter(server, counter(ACCOUNT), 200, 500_000)
    const answer = await attemptSignIn(server, { username: 'alice', password: 'wrong' })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(490)
  })

  test('ends 15 minutes after the first failure, and later failures do not extend it', async () => {
    await statusOf()
    for (const kind of [PAIR, ADDRESS, ACCOUNT]) {
      const left = await server.redis.pttl(`vk:attempts:${counter(kind)?.name}`)
      expect(left).toBeGreaterThan(890_000)
      expect(left).toBeLessThanOrEqual(900_000)
    }
    await setCounter(server, counter(PAIR), 20, 400)
    expect(await statusOf({ password: PASSWORD })).toBe(429)
    await until(async () => (await server.redis.exists(`vk:attempts:${counter(PAIR)?.name}`)) === 0)
    expect(await statusOf({ password: PASSWORD })).toBe(303)
  })

  test('is shared by all processes', async () => {
    const other = await startInstance(server)
    await setCounter(server, counter(PAIR), 18)
    expect(await statusOf({}, other)).toBe(422)
    expect(await statusOf()).toBe(422)
    expect([await statusOf({}, other), await statusOf()]).toEqual([429, 429])
    await other.close()
  })

  test.each([
    { factor: 2, most: 40 },
    { factor: 0.5, most: 10 },
    { factor: 0.001, most: 1 }
  ])('is at $most with LIMITS_FACTOR=$factor', async ({ factor, most }) => {
    const other = await startInstance(server, { config: { limitsFactor: factor } })
    await setCounter(server, counter(PAIR), most - 1)
    expect([await statusOf({}, other), await statusOf({}, other)]).toEqual([422, 429])
    await other.close()
  })
})
