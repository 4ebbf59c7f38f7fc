import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { addressGroup } from '../../../src/platform/rate-limits/address-group.js'
import { clientAuthenticationLimit, signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters, countCounters, counterOf, setCounter } from '../../support/counters.js'
import { PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { attemptSignIn } from '../../support/sign-in.js'

const PROXY = '10.0.0.1'

let server: TestServer
/** The same, behind proxies. */
let proxied: TestServer

beforeAll(async () => {
  server = await startTestServer()
  proxied = await startInstance(server, { config: { trustedProxies: ['10.0.0.0/24', '2001:db8:aaaa::1'] } })
  await server.createUser('alice', PASSWORD)
})
afterAll(async () => {
  await proxied.close()
  await server.close()
})
afterEach(() => clearCounters(server))

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
    await failAuthentication(proxied, '2001:db8:aaaa::1', { 'x-forwarded-for': '198.51.100.9, 203.0.113.7, 10.0.0.2' })
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
    // For each address: the counter of the pair and the counter of the address.
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
    await setCounter(server, signInLimits('alice', '192.0.2.1', false)[0], 20)
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
