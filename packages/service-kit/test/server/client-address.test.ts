import { isIP } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { clientAddressReader, ipAddress, networkMatcher } from '../../src/server/client-address.js'

const PROXY = '10.0.0.1'
const CLIENT = '203.0.113.10'
const addressOf = clientAddressReader(['10.0.0.0/8', '2001:db8:aaaa::/48'])
const forwardedFor = (value: string) => addressOf(PROXY, { 'x-forwarded-for': value })
const forwarded = (value: string) => addressOf(PROXY, { forwarded: value })

describe('X-Forwarded-For of a trusted proxy', () => {
  test.each([
    ['203.0.113.10', CLIENT],
    ['203.0.113.10:40001', CLIENT],
    [' 203.0.113.10 ', CLIENT],
    ['\t203.0.113.10:1\t', CLIENT],
    ['::ffff:203.0.113.10', CLIENT],
    ['::FFFF:cb00:710a', CLIENT],
    ['[::ffff:203.0.113.10]:443', CLIENT],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:DB8:0:0::0001', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:db8::1]:_hidden', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:443', 'fe80::1'],
    ['198.51.100.1, 203.0.113.10', CLIENT],
    ['198.51.100.1,203.0.113.10', CLIENT],
    ['198.51.100.1, 203.0.113.10, 10.0.0.7', CLIENT],
    ['198.51.100.1, 203.0.113.10:5, 10.0.0.7:6, [2001:db8:aaaa::5]:7, ::ffff:10.9.9.9', CLIENT],
    ['203.0.113.10, , ,', CLIENT],
    ['"evil, 203.0.113.10', CLIENT],
    ['evil", 203.0.113.10', CLIENT],
    ['10.0.0.9', '10.0.0.9'],
    ['10.0.0.9, 10.0.0.8', '10.0.0.9']
  ])('%j: the client is %s', (value, address) => {
    expect(forwardedFor(value)).toBe(address)
  })

  test.each([
    '',
    ',',
    'unknown',
    '_hidden',
    'localhost',
    '203.0.113',
    '203.0.113.256',
    '0x7f.1',
    '203.0.113.010',
    '1',
    '203.0.113.10:',
    '203.0.113.10:port',
    '203.0.113.10:123456',
    '203.0.113.10:1:2',
    '203.0.113.10/32',
    '[2001:db8::1',
    '2001:db8::1]',
    '[2001:db8::1]443',
    '[]',
    '[]:80',
    ':80',
    '[[2001:db8::1]]',
    '2001:db8:::1',
    '2001:db8:1:2:3:4:5:6:443',
    '"203.0.113.10"',
    'for=203.0.113.10',
    '203.0.113.10 198.51.100.1',
    '\0',
    'é',
    '198.51.100.1, unknown',
    '198.51.100.1, garbage, 10.0.0.7',
    `198.51.100.1, ${'1'.repeat(5_000)}`,
    `198.51.100.1, ${Array(32).fill('10.0.0.7').join(',')}`
  ])('%j: the client is the connecting peer', (value) => {
    expect(forwardedFor(value)).toBe(PROXY)
  })

  test('several headers are one list', () => {
    expect(addressOf(PROXY, { 'x-forwarded-for': ['198.51.100.1', '203.0.113.10:1', '10.0.0.7'] })).toBe(CLIENT)
  })
})

describe('Forwarded of a trusted proxy (RFC 7239)', () => {
  test.each([
    ['for=203.0.113.10', CLIENT],
    ['For=203.0.113.10;proto=https;by=10.0.0.1', CLIENT],
    ['proto=https; FOR="203.0.113.10:40001" ; host=auth.example', CLIENT],
    ['for="[2001:db8::1]:4711"', '2001:db8::1'],
    ['for="[2001:DB8::1]"', '2001:db8::1'],
    ['for=[2001:db8::1]:4711', '2001:db8::1'],
    ['for="[2001:db8::1]:_secret"', '2001:db8::1'],
    ['for="203.0.113\\.10"', CLIENT],
    ['for="[::ffff:203.0.113.10]"', CLIENT],
    ['for=198.51.100.1, for=203.0.113.10', CLIENT],
    ['for=198.51.100.1,for="203.0.113.10:80";proto=http, for=10.0.0.7', CLIENT],
    ['for=203.0.113.10;host="a,b;for=198.51.100.1"', CLIENT],
    ['for=203.0.113.10;host="a\\",for=198.51.100.1"', CLIENT],
    ['for=203.0.113.10;', CLIENT],
    ['for=_hidden, for=203.0.113.10', CLIENT],
    ['for="evil, for=203.0.113.10', CLIENT],
    ['for="evil, for="203.0.113.10:80"', CLIENT],
    ['evil\\, for="203.0.113.10:80"', CLIENT],
    ['for=10.0.0.9', '10.0.0.9']
  ])('%j: the client is %s', (value, address) => {
    expect(forwarded(value)).toBe(address)
  })

  test.each([
    '',
    'for=unknown',
    'for=_hidden',
    'for="_gazonk"',
    'for=',
    'for',
    '=203.0.113.10',
    'proto=https;by=10.0.0.1',
    'for=198.51.100.1, for=unknown',
    'for=203.0.113.10;for=203.0.113.10',
    'for=203.0.113.10;For=198.51.100.1',
    '203.0.113.10',
    'for="203.0.113.10',
    'for=203.0.113.10"',
    'for="203.0.113.10"x',
    'for = 203.0.113.10',
    'for=203.0.113.10 proto=https',
    'for="203.0.113.10,198.51.100.1"',
    `for=203.0.113.10;host=${'a'.repeat(600)}`,
    'for=198.51.100.1, proto=https',
    ';;;',
    'for=203.0.113.10;;proto=https'
  ])('%j: the client is the connecting peer', (value) => {
    expect(forwarded(value)).toBe(PROXY)
  })
})

describe('both headers', () => {
  test.each([
    { name: 'the same address', a: '203.0.113.10', b: 'for="203.0.113.10:1"', address: CLIENT },
    { name: 'two addresses', a: '203.0.113.10', b: 'for=198.51.100.1', address: PROXY },
    { name: 'an address and no address', a: '203.0.113.10', b: 'for=unknown', address: PROXY },
    { name: 'no address and an address', a: 'unknown', b: 'for=203.0.113.10', address: PROXY },
    { name: 'an address and an empty header', a: '203.0.113.10', b: '', address: CLIENT },
    { name: 'an empty header and an address', a: '', b: 'for=203.0.113.10', address: CLIENT }
  ])('$name: $address', ({ a, b, address }) => {
    expect(addressOf(PROXY, { 'x-forwarded-for': a, forwarded: b })).toBe(address)
  })
})

describe('the connecting peer', () => {
  const headers = { 'x-forwarded-for': '198.51.100.1', forwarded: 'for=198.51.100.1' }

  test.each([
    { name: 'an address that is not trusted', trusted: ['10.0.0.0/8'], peer: '192.0.2.1', address: '192.0.2.1' },
    { name: 'no trusted proxies', trusted: [], peer: PROXY, address: PROXY },
    { name: 'IPv4 on an IPv6 socket', trusted: [], peer: '::ffff:192.0.2.1', address: '192.0.2.1' },
    { name: 'a zone', trusted: [], peer: 'fe80::1%eth0', address: 'fe80::1' },
    { name: 'a connection that has ended', trusted: ['10.0.0.0/8'], peer: undefined, address: '' },
    {
      name: 'a trusted proxy on an IPv6 socket',
      trusted: ['10.0.0.1'],
      peer: '::ffff:10.0.0.1',
      address: '198.51.100.1'
    },
    { name: 'a trusted IPv6 proxy', trusted: ['2001:DB8:0::1'], peer: '2001:db8::1', address: '198.51.100.1' },
    { name: 'another IPv6 address', trusted: ['2001:db8::1'], peer: '2001:db8::2', address: '2001:db8::2' },
    { name: 'a trusted link-local proxy', trusted: ['fe80::/10'], peer: 'fe80::1%eth0', address: '198.51.100.1' }
  ])('$name: $address', ({ trusted, peer, address }) => {
    expect(clientAddressReader(trusted)(peer, headers)).toBe(address)
  })
})

describe('any text from a client', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary-ascii' }),
    fc
      .array(
        fc.oneof(
          fc.constantFrom('"', '\\', ',', ';', '=', ':', '[', ']', ' ', 'for=', 'for="', '10.0.0.7', 'unknown', '_x'),
          fc.ipV4(),
          fc.ipV6()
        )
      )
      .map((parts) => parts.join(''))
  )
  const port = fc.constantFrom('', ':1', ':65535')
  const proxies = fc.constantFrom('', ', 10.0.0.7', ', 10.0.0.7:80, [2001:db8:aaaa::1]:5')

  test("to the left of the proxies' part of X-Forwarded-For has no effect", () => {
    fc.assert(
      fc.property(text, port, proxies, (sent, from, more) => {
        expect(forwardedFor(`${sent}, ${CLIENT}${from}${more}`)).toBe(CLIENT)
        expect(addressOf(PROXY, { 'x-forwarded-for': [sent, `${CLIENT}${from}${more}`] })).toBe(CLIENT)
      })
    )
  })

  test("to the left of the proxies' part of Forwarded has no effect", () => {
    const more = fc.constantFrom('', ', for=10.0.0.7', ', for="10.0.0.7:80";proto=https, for="[2001:db8:aaaa::1]"')
    fc.assert(
      fc.property(text, port, more, (sent, from, rest) => {
        expect(forwarded(`${sent}, for="${CLIENT}${from}"${rest}`)).toBe(CLIENT)
        expect(forwarded(`${sent},for=${CLIENT}${rest}`)).toBe(CLIENT)
      })
    )
  })

  test('in the header that the proxy does not write cannot change the address to another one', () => {
    fc.assert(
      fc.property(text, (sent) => {
        expect([CLIENT, PROXY]).toContain(addressOf(PROXY, { 'x-forwarded-for': CLIENT, forwarded: sent }))
        expect([CLIENT, PROXY]).toContain(addressOf(PROXY, { 'x-forwarded-for': sent, forwarded: `for=${CLIENT}` }))
      })
    )
  })

  test('is ignored without a trusted proxy', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(addressOf('192.0.2.1', { 'x-forwarded-for': a, forwarded: b })).toBe('192.0.2.1')
      })
    )
  })

  test('results in a canonical IP address', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const address = addressOf(PROXY, { 'x-forwarded-for': a, forwarded: b })
        expect(isIP(address)).not.toBe(0)
        expect(ipAddress(address)).toBe(address)
      })
    )
  })
})

test('a network matches addresses of its family only; IPv4-mapped ones count as IPv4', () => {
  const isInside = networkMatcher(['10.0.0.0/8', '::ffff:192.0.2.1'])
  expect(['10.1.2.3', '192.0.2.1', '11.0.0.1', '2001:db8::1', '', 'text'].map(isInside)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false
  ])
})
