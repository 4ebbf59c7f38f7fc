import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import type { LightMyRequestResponse } from 'fastify'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { addressGroup } from '../../../src/platform/rate-limits/address-group.js'
import { clientAuthenticationLimit, signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters, countCounters, counterOf, setCounter } from '../../support/counters.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { attemptSignIn } from '../../support/sign-in.js'

const HERE = '192.0.2.1'
const ELSEWHERE = '198.51.100.1'
let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterEach(() => clearCounters(server))
afterAll(() => server.close())

describe('limits of clients', () => {
  let client: Credentials

  beforeAll(async () => {
    client = await server.createClient()
  })

  type Call = { url?: string; credentials?: Credentials; address?: string; form?: Record<string, string> }

  const wrong = (clientId = client.clientId): Credentials => ({ clientId, clientSecret: `vk_cs_${'x'.repeat(49)}` })

  /** Sends an unknown code: 400 with correct credentials, 401 with wrong ones. */
  async function call(
    change: Call = {},
    instance: Pick<TestServer, 'publicServer'> = server
  ): Promise<LightMyRequestResponse> {
    const { url = '/token', credentials = wrong(), address = HERE, form = {} } = change
    return instance.publicServer.inject({
      method: 'POST',
      url,
      remoteAddress: address,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ grant_type: 'other', ...bodyCredentials(credentials), ...form }).toString()
    })
  }

  const statusOf = async (change: Call = {}) => (await call(change)).statusCode

  test('100 failures a minute from an address; the next is 429 with Retry-After (contract "Limits", "Errors")', async () => {
    const statuses: number[] = []
    for (let round = 1; round <= 11; round++)
      statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => statusOf()))))
    expect(statuses.filter((status) => status === 401)).toHaveLength(100)
    const answer = await call()
    expect(answer.statusCode).toBe(429)
    expect(answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(answer.headers['cache-control']).toBe('no-store')
    const seconds = Number(answer.headers['retry-after'])
    expect(seconds).toBeGreaterThan(50)
    expect(seconds).toBeLessThanOrEqual(60)
  })

  test('unknown clients, wrong secrets and missing credentials count together, at both endpoints', async () => {
    await setCounter(server, clientAuthenticationLimit(HERE), 96)
    expect(await statusOf({ credentials: wrong('unknown') })).toBe(401)
    expect(await statusOf({ url: '/oauth/revoke' })).toBe(401)
    expect(await statusOf({ credentials: { clientId: '', clientSecret: '' } })).toBe(401)
    expect(await statusOf({ credentials: { ...client, clientSecret: '' } })).toBe(401)
    for (const url of ['/token', '/oauth/revoke'])
      expect(await statusOf({ url, credentials: wrong('other') })).toBe(429)
  })

  test('invented client ids create one small counter per address, and refused attempts create none', async () => {
    for (let id = 0; id < 30; id++) await statusOf({ credentials: wrong(`made_up_${id}`) })
    const [key = '', ...others] = await server.redis.keys('vk:attempts:*')
    expect(others).toEqual([])
    // Redis adds about 100 bytes.
    expect(key.length).toBeLessThan(70)
    await clearCounters(server)
    await setCounter(server, clientAuthenticationLimit(HERE), 100)
    expect(await statusOf({ credentials: wrong('another') })).toBe(429)
    expect([await countCounters(server), await counterOf(server, clientAuthenticationLimit(HERE))]).toEqual([1, 100])
  })

  test('correct credentials are never refused because of failures', async () => {
    await setCounter(server, clientAuthenticationLimit(HERE), 5_000)
    expect(await statusOf()).toBe(429)
    const answer = await call({ credentials: client })
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'unsupported_grant_type'])
    expect(await statusOf({ credentials: client, url: '/oauth/revoke', form: { token: 'x' } })).toBe(200)
  })

  test('failures of one address do not affect another: a client cannot be locked out', async () => {
    await setCounter(server, clientAuthenticationLimit(HERE), 5_000)
    expect(await statusOf({ address: ELSEWHERE })).toBe(401)
    expect(await statusOf({ address: ELSEWHERE, credentials: client })).toBe(400)
  })

  test('only failed authentication counts, not a bad grant or an unreadable request', async () => {
    await call({ credentials: client })
    await exchange(server, client, 'vk_ac_unknown')
    await call({ form: { grant_type: '' }, credentials: client })
    const twice = `client_id=a&client_id=b&grant_type=other`
    await server.publicServer.inject({
      method: 'POST',
      url: '/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: twice
    })
    expect(await countCounters(server)).toBe(0)
  })

  test('correct credentials need no Redis: refresh, revocation and error responses work without it', async () => {
    const tokens = (await exchange(server, client, await obtainCode(server, client))).json()
    const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const instance = await startInstance({ ...server, redis: nowhere })
    const refreshed = await refresh(instance, client, tokens.refresh_token)
    expect(refreshed.statusCode).toBe(200)
    expect((await call({ credentials: client }, instance)).statusCode).toBe(400)
    const revoked = await instance.publicServer.inject({
      method: 'POST',
      url: '/oauth/revoke',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(client) },
      payload: `token=${refreshed.json().access_token}`
    })
    expect(revoked.statusCode).toBe(200)
    // A failure that cannot be counted gets 503 (contract "Errors").
    const uncounted = await call({}, instance)
    expect([uncounted.statusCode, uncounted.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(uncounted.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    await instance.close()
    nowhere.disconnect()
  })

  test('the window is a minute from the first failure', async () => {
    await call()
    const left = await server.redis.pttl(`vk:attempts:${clientAuthenticationLimit(HERE).name}`)
    expect(left).toBeGreaterThan(55_000)
    expect(left).toBeLessThanOrEqual(60_000)
  })

  test('names of counters contain neither client ids nor addresses', async () => {
    await call()
    const keys = await server.redis.keys('vk:attempts:*')
    expect(keys).toHaveLength(1)
    expect(keys.join()).not.toMatch(new RegExp(`${client.clientId}|${HERE}`))
  })
})

describe('limits of resource servers', () => {
  let resourceServer: Credentials

  beforeAll(async () => {
    resourceServer = await server.createResourceServer()
  })

  type Call = { url?: string; credentials?: Credentials; address?: string }

  async function call({ url = '/introspect', credentials, address = HERE }: Call, instance = server) {
    return instance.internalServer.inject({
      method: 'POST',
      url,
      remoteAddress: address,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...(credentials && basic(credentials)) },
      payload: 'token=x&tokens=x'
    })
  }

  const wrong = (clientId = resourceServer.clientId) => ({ clientId, clientSecret: 'wrong' })

  const statusesOf = async (count: number, change: (index: number) => Call) =>
    (await Promise.all(Array.from({ length: count }, (_, index) => call(change(index))))).map(
      ({ statusCode }) => statusCode
    )

  test('100 failed credentials a minute from an address, at all three endpoints together; then 429 (contract "Limits")', async () => {
    const urls = ['/introspect', '/introspections', '/revocations']
    const statuses = await statusesOf(103, (index) => ({
      url: urls[index % 3] ?? '',
      credentials: wrong(`made_up_${index}`)
    }))
    expect(statuses.filter((status) => status === 401)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(3)
    const refused = await call({ credentials: wrong() })
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'temporarily_unavailable'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    expect((await call({})).statusCode).toBe(429)
    // One small counter for all invented ids.
    expect(await countCounters(server)).toBe(1)
    // Correct credentials pass, and failures of other addresses do not count here.
    expect((await call({ credentials: resourceServer })).statusCode).toBe(200)
    expect((await call({ credentials: wrong(), address: ELSEWHERE })).statusCode).toBe(401)
  })

  test('correct credentials need no Redis; without Redis a failure gets 503', async () => {
    const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const instance = await startInstance(server, { redis: nowhere })
    expect((await call({ credentials: resourceServer }, instance)).statusCode).toBe(200)
    const uncounted = await call({ credentials: wrong() }, instance)
    expect([uncounted.statusCode, uncounted.json().error]).toEqual([503, 'temporarily_unavailable'])
    await instance.close()
    nowhere.disconnect()
  })
})

describe('addresses', () => {
  const PROXY = '10.0.0.1'
  /** The same, behind proxies. */
  let proxied: TestServer

  beforeAll(async () => {
    proxied = await startInstance(server, { config: { trustedProxies: ['10.0.0.0/24', '2001:db8:aaaa::1'] } })
  })
  afterAll(async () => {
    await proxied.close()
  })

  async function failAuthentication(instance: TestServer, address: string, headers: Record<string, string> = {}) {
    const answer = await instance.publicServer.inject({
      method: 'POST',
      url: '/token',
      remoteAddress: address,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: 'grant_type=other&client_id=unknown&client_secret=wrong'
    })
    return answer.statusCode
  }

  const failuresOf = (address: string) => counterOf(server, clientAuthenticationLimit(address))

  const SPOOFS = [
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-for': '203.0.113.7, 203.0.113.8' },
    { forwarded: 'for=203.0.113.7' },
    { 'x-real-ip': '203.0.113.7' },
    { 'x-client-ip': '203.0.113.7' },
    { 'true-client-ip': '203.0.113.7' },
    { 'cf-connecting-ip': '203.0.113.7' }
  ]

  describe('the address that is counted', () => {
    test.each(SPOOFS)('without TRUSTED_PROXIES it is the address of the connection, despite %j', async (headers) => {
      await failAuthentication(server, '192.0.2.1', headers as Record<string, string>)
      expect(await failuresOf('192.0.2.1')).toBe(1)
      expect(await countCounters(server)).toBe(1)
    })

    test.each(SPOOFS)('headers of an address that is not a trusted proxy are ignored: %j', async (headers) => {
      await failAuthentication(proxied, '192.0.2.1', headers as Record<string, string>)
      expect(await failuresOf('192.0.2.1')).toBe(1)
    })

    test('for a trusted proxy it is the last forwarded address that is not a proxy', async () => {
      await failAuthentication(proxied, PROXY, { 'x-forwarded-for': '203.0.113.7' })
      await failAuthentication(proxied, '2001:db8:aaaa::1', {
        'x-forwarded-for': '198.51.100.9, 203.0.113.7, 10.0.0.2'
      })
      expect(await failuresOf('203.0.113.7')).toBe(2)
      expect(await failuresOf('198.51.100.9')).toBe(0)
      expect(await failuresOf(PROXY)).toBe(0)
    })

    test('other forwarding headers are ignored, even from a trusted proxy', async () => {
      const others = SPOOFS.filter((headers) => !('x-forwarded-for' in headers || 'forwarded' in headers))
      for (const headers of others) await failAuthentication(proxied, PROXY, headers as Record<string, string>)
      expect(await failuresOf(PROXY)).toBe(others.length)
    })

    test('a forwarded address with changing ports has one counter', async () => {
      for (let port = 40_000; port < 40_005; port++) {
        await failAuthentication(proxied, PROXY, { 'x-forwarded-for': `203.0.113.10:${port}` })
        await failAuthentication(proxied, PROXY, { forwarded: `for="203.0.113.10:${port}"` })
        await failAuthentication(proxied, PROXY, { 'x-forwarded-for': `[2001:db8:1:2::1]:${port}` })
        await failAuthentication(proxied, PROXY, { forwarded: `for="[2001:db8:1:2::1]:${port}"` })
      }
      expect([await failuresOf('203.0.113.10'), await failuresOf('2001:db8:1:2::1')]).toEqual([10, 10])
      // Each address has two: the counter of the pair and the counter of the address.
      expect(await countCounters(server)).toBe(2)
    })

    test('addresses that a client puts before the proxy’s own entry create no counters', async () => {
      const sent = ['198.51.100.1', '198.51.100.1:80', 'unknown', '"', '[', '10.0.0.7', ',', '"x, 198.51.100.2']
      for (const text of sent) {
        await failAuthentication(proxied, PROXY, { 'x-forwarded-for': `${text}, 203.0.113.10:1` })
        await failAuthentication(proxied, PROXY, { forwarded: `for=${text}, for="203.0.113.10:1"` })
      }
      expect(await failuresOf('203.0.113.10')).toBe(2 * sent.length)
      expect(await countCounters(server)).toBe(1)
    })

    test('texts that are not addresses, and headers that disagree, count as the proxy', async () => {
      const sent: Record<string, string>[] = [
        ...['unknown', '_hidden', 'a', 'b', '203.0.113.10:port', '203.0.113.300'].map((text) => ({
          'x-forwarded-for': text
        })),
        ...['for=unknown', 'for=_a', 'for=_b', 'proto=https', 'for="203.0.113.10'].map((forwarded) => ({ forwarded })),
        ...['1', '2'].map((last) => ({ 'x-forwarded-for': '203.0.113.10', forwarded: `for=198.51.100.${last}` }))
      ]
      for (const headers of sent) await failAuthentication(proxied, PROXY, headers)
      expect(await failuresOf(PROXY)).toBe(sent.length)
      expect(await countCounters(server)).toBe(1)
    })

    test('a rate-limited address cannot evade the limit with a header, nor at sign-in', async () => {
      await setCounter(server, clientAuthenticationLimit('192.0.2.1'), 100)
      await setCounter(server, signInLimits(canonicalName('alice'), '192.0.2.1', false)[0], 20)
      for (const headers of SPOOFS as Record<string, string>[]) {
        expect(await failAuthentication(server, '192.0.2.1', headers)).toBe(429)
        const attempt = { username: 'alice', password: PASSWORD, address: '192.0.2.1', headers }
        expect((await attemptSignIn(server, attempt)).statusCode).toBe(429)
      }
    })

    test('failures with a spoofed address do not count for the victim', async () => {
      await setCounter(server, clientAuthenticationLimit('203.0.113.7'), 99)
      for (let attempt = 1; attempt <= 3; attempt++) await failAuthentication(server, '192.0.2.1', SPOOFS[0])
      expect(await failuresOf('203.0.113.7')).toBe(99)
    })

    test('X-Forwarded-Host and -Proto do not change a response, even from a trusted proxy (contract 1)', async () => {
      const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher', host: 'evil.example' }
      for (const url of ['/.well-known/oauth-authorization-server', '/login']) {
        const answer = await proxied.publicServer.inject({ url, remoteAddress: PROXY, headers })
        expect(answer.statusCode).toBe(200)
        expect(JSON.stringify([answer.headers, answer.body])).not.toMatch(/evil\.example|gopher/)
      }
    })
  })

  describe('an address group', () => {
    test.each([
      { address: '192.0.2.1', group: '192.0.2.1' },
      { address: '::ffff:192.0.2.1', group: '192.0.2.1' },
      { address: '::FFFF:192.0.2.1', group: '192.0.2.1' },
      { address: '2001:db8:1:2:3:4:5:6', group: '2001:db8:1:2::/64' },
      { address: '2001:DB8:1:2::6', group: '2001:db8:1:2::/64' },
      { address: '2001:0db8:0001:0002::', group: '2001:db8:1:2::/64' },
      { address: '2001:db8::1', group: '2001:db8:0:0::/64' },
      { address: '2001:db8::1:2:3:4:5', group: '2001:db8:0:1::/64' },
      { address: '::1', group: '0:0:0:0::/64' },
      { address: '::', group: '0:0:0:0::/64' },
      { address: 'fe80::1%eth0', group: 'fe80:0:0:0::/64' },
      { address: '64:ff9b::192.0.2.1', group: '64:ff9b:0:0::/64' },
      { address: '::ffff:c000:201', group: '192.0.2.1' }
    ])('$address is $group', ({ address, group }) => {
      expect(addressGroup(address)).toBe(group)
    })

    test('has one counter for all addresses of its /64, separate from the next /64', async () => {
      for (const last of [':1', ':2', 'ffff:1:2:3']) await failAuthentication(server, `2001:db8:1:2:${last}`)
      await failAuthentication(server, '2001:db8:1:3::1')
      expect(await failuresOf('2001:db8:1:2::')).toBe(3)
      expect(await failuresOf('2001:db8:1:3::')).toBe(1)
    })

    test('is the same for IPv4 and for IPv4-mapped IPv6', async () => {
      await failAuthentication(server, '192.0.2.1')
      await failAuthentication(server, '::ffff:192.0.2.1')
      expect(await failuresOf('192.0.2.1')).toBe(2)
    })
  })
})
