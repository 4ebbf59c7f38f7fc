import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isRegisteredRedirectUri, leadsToOwnDevice, parseUrl, redirectTarget } from '../src/redirect-uri.js'

describe('a web address', () => {
  const REGISTERED = 'https://app.example/cb'

  test.each([
    { name: 'a trailing slash', given: 'https://app.example/cb/' },
    { name: 'a further path segment', given: 'https://app.example/cb/more' },
    { name: 'a further letter', given: 'https://app.example/cbx' },
    { name: 'a letter less', given: 'https://app.example/c' },
    { name: 'no path', given: 'https://app.example' },
    { name: 'the root path', given: 'https://app.example/' },
    { name: 'the path in other case', given: 'https://app.example/CB' },
    { name: 'the host in other case', given: 'https://App.example/cb' },
    { name: 'the scheme in other case', given: 'HTTPS://app.example/cb' },
    { name: 'http', given: 'http://app.example/cb' },
    { name: 'another scheme', given: 'ftp://app.example/cb' },
    { name: 'no scheme', given: '//app.example/cb' },
    { name: 'only the path', given: '/cb' },
    { name: 'javascript:', given: 'javascript:alert(1)//https://app.example/cb' },
    { name: 'the default port', given: 'https://app.example:443/cb' },
    { name: 'another port', given: 'https://app.example:8443/cb' },
    { name: 'an empty port', given: 'https://app.example:/cb' },
    { name: 'an encoded letter', given: 'https://app.example/%63b' },
    { name: 'an encoded slash', given: 'https://app.example%2Fcb' },
    { name: 'a dot segment', given: 'https://app.example/./cb' },
    { name: 'a dot segment at the end', given: 'https://app.example/cb/.' },
    { name: 'a double dot segment', given: 'https://app.example/x/../cb' },
    { name: 'a double dot segment after it', given: 'https://app.example/cb/../evil' },
    { name: 'encoded double dots', given: 'https://app.example/x/%2e%2e/cb' },
    { name: 'a doubled slash', given: 'https://app.example//cb' },
    { name: 'a path parameter', given: 'https://app.example/cb;x' },
    { name: 'a user name', given: 'https://user@app.example/cb' },
    { name: 'an empty user name', given: 'https://@app.example/cb' },
    { name: 'a user name and a password', given: 'https://user:secret@app.example/cb' },
    { name: 'the host as user name', given: 'https://app.example@evil.example/cb' },
    { name: 'the host and a colon as user name', given: 'https://app.example:443@evil.example/cb' },
    { name: 'a backslash for a slash', given: 'https://app.example\\cb' },
    { name: 'backslashes after the scheme', given: 'https:\\\\app.example/cb' },
    { name: 'a backslash before an at sign', given: 'https://evil.example\\@app.example/cb' },
    { name: 'an added query', given: 'https://app.example/cb?x=1' },
    { name: 'an empty query', given: 'https://app.example/cb?' },
    { name: 'a fragment', given: 'https://app.example/cb#x' },
    { name: 'an empty fragment', given: 'https://app.example/cb#' },
    { name: 'a subdomain', given: 'https://evil.app.example/cb' },
    { name: 'a longer host', given: 'https://app.example.evil.example/cb' },
    { name: 'a dot after the host', given: 'https://app.example./cb' },
    { name: 'a Cyrillic look-alike', given: 'https://\u0430pp.example/cb' },
    { name: 'full-width letters', given: 'https://ａpp.example/cb' },
    { name: 'a full-width dot', given: 'https://app。example/cb' },
    { name: 'a soft hyphen', given: 'https://app.ex\u00adample/cb' },
    { name: 'a zero-width space at the end', given: 'https://app.example/cb\u200b' },
    { name: 'a space before', given: ' https://app.example/cb' },
    { name: 'a space after', given: 'https://app.example/cb ' },
    { name: 'a line break after', given: 'https://app.example/cb\n' },
    { name: 'a tab inside', given: 'https://app.exa\tmple/cb' },
    { name: 'a NUL after', given: 'https://app.example/cb\u0000' },
    { name: 'the address twice', given: 'https://app.example/cb https://app.example/cb' },
    { name: 'an encoded NUL', given: 'https://app.example/cb%00' },
    { name: 'an encoded space', given: 'https://app.example/cb%20' },
    { name: 'an encoded letter of the host', given: 'https://%61pp.example/cb' },
    { name: 'a parameter without a question mark', given: 'https://app.example/cb&x=1' },
    { name: 'a fragment with an at sign', given: 'https://app.example/cb#@evil.example' },
    { name: 'no slash after the scheme', given: 'https:app.example/cb' },
    { name: 'one slash after the scheme', given: 'https:/app.example/cb' },
    { name: 'three slashes after the scheme', given: 'https:///app.example/cb' },
    { name: 'only the last segment', given: 'cb' },
    { name: 'only host and path', given: 'app.example/cb' },
    { name: 'javascript: with the host', given: 'javascript://app.example/cb' },
    { name: 'data:', given: 'data:text/html,evil' },
    { name: 'the out-of-band URN', given: 'urn:ietf:wg:oauth:2.0:oob' },
    { name: 'another host', given: 'https://evil.example/cb' },
    { name: 'the address as a path', given: 'https://evil.example/https://app.example/cb' },
    { name: 'a wildcard host', given: 'https://*.example/cb' },
    { name: 'an empty user name and password', given: 'https://:@app.example/cb' },
    { name: 'an encoded at sign', given: 'https://app.example%40evil.example/cb' },
    { name: 'the host and a backslash as user name', given: 'https://app.example\\@evil.example/cb' },
    { name: 'a Cyrillic letter later in the host', given: 'https://app.ex\u0430mple/cb' },
    { name: 'a full-width slash', given: 'https://app.example／cb' },
    { name: 'a change of direction', given: 'https://app.example/cb\u202e' },
    { name: 'a byte order mark', given: '\ufeffhttps://app.example/cb' },
    { name: 'a tab in the path', given: 'https://app.example/\tcb' },
    { name: 'a NUL and a host', given: 'https://app.example/cb\u0000.evil.example' },
    { name: 'a comma and a second address', given: 'https://app.example/cb,https://evil.example/' },
    { name: 'nothing', given: '' }
  ])('redirect URI: $name is refused (RFC 9700 §2.1, RFC 6749 §3.1.2.3)', ({ given }) => {
    expect(isRegisteredRedirectUri(given, [REGISTERED])).toBe(false)
  })

  test.each([
    { name: 'the same text', given: REGISTERED, registered: [REGISTERED], same: true },
    { name: 'the second of two', given: REGISTERED, registered: ['https://app.example/', REGISTERED], same: true },
    { name: 'the same query', given: `${REGISTERED}?a=1`, registered: [`${REGISTERED}?a=1`], same: true },
    { name: 'another query', given: `${REGISTERED}?a=2`, registered: [`${REGISTERED}?a=1`], same: false },
    { name: 'a longer query', given: `${REGISTERED}?a=1&b=2`, registered: [`${REGISTERED}?a=1`], same: false },
    { name: 'a query left out', given: REGISTERED, registered: [`${REGISTERED}?a=1`], same: false },
    { name: 'a decoded query', given: `${REGISTERED}?a=/`, registered: [`${REGISTERED}?a=%2F`], same: false },
    { name: 'hexadecimal in other case', given: '/?a=%2f', registered: ['/?a=%2F'], same: false },
    { name: 'a query parameter twice', given: '/?a=1&a=1', registered: ['/?a=1'], same: false },
    { name: 'a query in other order', given: '/?b=2&a=1', registered: ['/?a=1&b=2'], same: false },
    { name: 'a pattern', given: REGISTERED, registered: ['https://app.example/*', 'https://.*'], same: false },
    { name: 'a registered prefix', given: REGISTERED, registered: ['https://app.example/'], same: false },
    { name: 'two halves', given: REGISTERED, registered: ['https://app.example', '/cb'], same: false },
    { name: 'none registered', given: REGISTERED, registered: [], same: false },
    { name: 'an app', given: 'com.example.app:/cb', registered: ['com.example.app:/cb'], same: true },
    { name: 'an app, one slash more', given: 'com.example.app://cb', registered: ['com.example.app:/cb'], same: false },
    {
      name: 'an app, a slash after it',
      given: 'com.example.app:/cb/',
      registered: ['com.example.app:/cb'],
      same: false
    },
    { name: 'an app, no slash', given: 'com.example.app:cb', registered: ['com.example.app:/cb'], same: false },
    {
      name: 'an app, path in other case',
      given: 'com.example.app:/CB',
      registered: ['com.example.app:/cb'],
      same: false
    },
    { name: 'an app, added query', given: 'com.example.app:/cb?x=1', registered: ['com.example.app:/cb'], same: false },
    { name: 'an app, longer scheme', given: 'com.example.app2:/cb', registered: ['com.example.app:/cb'], same: false },
    { name: 'an app, shorter scheme', given: 'com.example:/cb', registered: ['com.example.app:/cb'], same: false },
    { name: 'an app, other case', given: 'com.example.App:/cb', registered: ['com.example.app:/cb'], same: false },
    { name: 'an app, other port', given: 'com.example.app://h:2/', registered: ['com.example.app://h:1/'], same: false }
  ])('redirect URI: $name is accepted: $same (RFC 9700 §2.1)', ({ given, registered, same }) => {
    expect(isRegisteredRedirectUri(given, registered)).toBe(same)
  })
})

describe('a loopback address', () => {
  const HOSTS = ['127.0.0.1', '[::1]', 'localhost'] as const
  const PORTS = ['', ':1', ':80', ':443', ':8080', ':49152', ':65535']

  const ofEachHost = HOSTS.flatMap((host) => PORTS.map((port) => ({ host, port })))
  test.each(ofEachHost)('loopback: http://$host$port is accepted for any registered port (RFC 8252 §7.3)', (given) => {
    for (const port of PORTS) {
      const accepted = (end: string) =>
        isRegisteredRedirectUri(`http://${given.host}${given.port}${end}`, [`http://${given.host}${port}${end}`])
      expect(['/cb', '/', '', '/cb?a=1', '?a=1', '/a/b'].filter((end) => !accepted(end))).toEqual([])
    }
  })

  const mixed = HOSTS.flatMap((given) =>
    HOSTS.filter((host) => host !== given).map((registered) => [given, registered])
  )
  test.each(mixed)('loopback: %s is refused if %s is registered (RFC 8252 §8.3)', (given, registered) => {
    expect(isRegisteredRedirectUri(`http://${given}:8080/cb`, [`http://${registered}:8080/cb`])).toBe(false)
    expect(isRegisteredRedirectUri(`http://${given}:1234/cb`, [`http://${registered}:8080/cb`])).toBe(false)
  })

  test.each([
    { name: 'a user name that looks like a port', given: 'http://127.0.0.1:80@evil.example/cb' },
    { name: 'a user name that looks like the host', given: 'http://127.0.0.1@evil.example/cb' },
    { name: 'a user name', given: 'http://user@127.0.0.1:80/cb' },
    { name: 'a host that begins with it', given: 'http://127.0.0.1.evil.example/cb' },
    { name: 'a port with a host after it', given: 'http://127.0.0.1:80.evil.example/cb' },
    { name: 'a port and a backslash', given: 'http://127.0.0.1:80\\@evil.example/cb' },
    { name: 'a port and a fragment', given: 'http://127.0.0.1:80#@evil.example/cb' },
    { name: 'a fragment after the path', given: 'http://127.0.0.1:80/cb#x' },
    { name: 'two ports', given: 'http://127.0.0.1:80:90/cb' },
    { name: 'port 0', given: 'http://127.0.0.1:0/cb' },
    { name: 'port 65536', given: 'http://127.0.0.1:65536/cb' },
    { name: 'port 99999', given: 'http://127.0.0.1:99999/cb' },
    { name: 'a port of six digits', given: 'http://127.0.0.1:100000/cb' },
    { name: 'a leading zero', given: 'http://127.0.0.1:080/cb' },
    { name: 'an empty port', given: 'http://127.0.0.1:/cb' },
    { name: 'a negative port', given: 'http://127.0.0.1:-1/cb' },
    { name: 'a port with a sign', given: 'http://127.0.0.1:+80/cb' },
    { name: 'a port in hexadecimal', given: 'http://127.0.0.1:0x50/cb' },
    { name: 'a port in letters', given: 'http://127.0.0.1:http/cb' },
    { name: 'a port in other digits', given: 'http://127.0.0.1:８０/cb' },
    { name: 'a wildcard port', given: 'http://127.0.0.1:*/cb' },
    { name: 'https', given: 'https://127.0.0.1:80/cb' },
    { name: 'the scheme in other case', given: 'HTTP://127.0.0.1:80/cb' },
    { name: 'another scheme', given: 'ws://127.0.0.1:80/cb' },
    { name: 'another loopback address', given: 'http://127.0.0.2:80/cb' },
    { name: 'the short form', given: 'http://127.1:80/cb' },
    { name: 'the decimal form', given: 'http://2130706433:80/cb' },
    { name: 'a part in hexadecimal', given: 'http://0x7f.0.0.1:80/cb' },
    { name: 'a dot after the address', given: 'http://127.0.0.1.:80/cb' },
    { name: 'full-width digits', given: 'http://１27.0.0.1:80/cb' },
    { name: 'letters after the port', given: 'http://127.0.0.1:5000a/cb' },
    { name: 'a space before the port', given: 'http://127.0.0.1: 5000/cb' },
    { name: 'a double dot segment', given: 'http://127.0.0.1:80/x/../cb' },
    { name: 'a backslash for a slash', given: 'http://127.0.0.1:80\\cb' },
    { name: 'Arabic digits in the port', given: 'http://127.0.0.1:٨٠/cb' },
    { name: 'the octal form', given: 'http://0177.0.0.1:80/cb' },
    { name: 'the unspecified address', given: 'http://0.0.0.0:80/cb' },
    { name: 'dots that are any character', given: 'http://127a0b0c1:80/cb' },
    { name: 'another path', given: 'http://127.0.0.1:80/other' },
    { name: 'a trailing slash', given: 'http://127.0.0.1:80/cb/' },
    { name: 'a longer path', given: 'http://127.0.0.1:80/cb/more' },
    { name: 'a dot segment', given: 'http://127.0.0.1:80/./cb' },
    { name: 'an encoded path', given: 'http://127.0.0.1:80/%63b' },
    { name: 'the path in other case', given: 'http://127.0.0.1:80/CB' },
    { name: 'no path', given: 'http://127.0.0.1:80' },
    { name: 'an added query', given: 'http://127.0.0.1:80/cb?a=1' },
    { name: 'a line break after', given: 'http://127.0.0.1:80/cb\n' }
  ])('loopback: $name is refused (RFC 8252 §7.3, RFC 9700 §2.1)', ({ given }) => {
    expect(isRegisteredRedirectUri(given, ['http://127.0.0.1:8080/cb', 'http://127.0.0.1/cb'])).toBe(false)
  })

  test.each([
    { name: 'https on localhost', given: 'https://localhost:1/cb', registered: 'https://localhost:2/cb' },
    { name: 'https on 127.0.0.1', given: 'https://127.0.0.1:1/cb', registered: 'https://127.0.0.1/cb' },
    { name: 'https for http', given: 'https://localhost:1/cb', registered: 'http://localhost:1/cb' },
    { name: 'http for https', given: 'http://localhost:1/cb', registered: 'https://localhost:1/cb' },
    { name: 'localhost as user name', given: 'http://localhost@evil.example/cb', registered: 'http://localhost:2/cb' },
    { name: 'localhost in other case', given: 'http://LOCALHOST:1/cb', registered: 'http://localhost:2/cb' },
    { name: 'a dot after localhost', given: 'http://localhost.:1/cb', registered: 'http://localhost:2/cb' },
    { name: 'a host below localhost', given: 'http://a.localhost:1/cb', registered: 'http://a.localhost:2/cb' },
    { name: 'a host that ends so', given: 'http://notlocalhost:1/cb', registered: 'http://notlocalhost:2/cb' },
    { name: 'a host that begins so', given: 'http://localhost.evil:1/', registered: 'http://localhost:1/' },
    { name: 'a port beyond the last one', given: 'http://localhost:99999/', registered: 'http://localhost:1/' },
    { name: '::1 in full', given: 'http://[0:0:0:0:0:0:0:1]:1/', registered: 'http://[::1]:1/' },
    { name: '::1 without brackets', given: 'http://::1/cb', registered: 'http://[::1]/cb' },
    { name: '::1 with a zone', given: 'http://[::1%25lo]:1/', registered: 'http://[::1]:1/' },
    { name: '127.0.0.1 inside IPv6', given: 'http://[::ffff:127.0.0.1]:1/', registered: 'http://127.0.0.1:1/' },
    { name: 'another address than loopback', given: 'http://10.0.0.1:1/', registered: 'http://10.0.0.1:2/' },
    { name: 'another host than loopback', given: 'http://app.example:1/', registered: 'http://app.example:2/' },
    { name: 'a slash that was not registered', given: 'http://localhost:1/', registered: 'http://localhost:1' },
    { name: 'another query', given: 'http://localhost:1/?a=2', registered: 'http://localhost:2/?a=1' },
    { name: 'loopback for a web address', given: 'http://localhost:1/cb', registered: 'https://app.example/cb' }
  ])('loopback: $name is refused (RFC 8252 §7.3)', ({ given, registered }) => {
    expect(isRegisteredRedirectUri(given, [registered])).toBe(false)
  })
})

test('redirect URI: a change of more than a loopback port is refused (RFC 9700 §2.1)', () => {
  const registered = ['https://app.example/cb?a=1', 'http://127.0.0.1:8080/cb?a=1', 'com.example.app:/cb']
  const edit = fc.record({
    uri: fc.constantFrom(...registered),
    at: fc.nat({ max: 40 }),
    remove: fc.nat({ max: 3 }),
    insert: fc.string({ unit: fc.constantFrom(...'@:/?#.%\\ a1'), maxLength: 3 })
  })
  fc.assert(
    fc.property(edit, ({ uri, at, remove, insert }) => {
      const given = uri.slice(0, at) + insert + uri.slice(at + remove)
      const portOnly = /^http:\/\/127\.0\.0\.1(:[1-9][0-9]*)?\/cb\?a=1$/.exec(given)
      const expected = registered.includes(given) || (portOnly !== null && URL.canParse(given))
      expect(isRegisteredRedirectUri(given, registered)).toBe(expected)
    }),
    { numRuns: 500 }
  )
})

test.each([
  {
    uri: 'https://app.example/cb?a=1',
    target: { kind: 'web', origin: 'https://app.example', host: 'app.example' }
  },
  {
    uri: 'https://app.example:8443/',
    target: { kind: 'web', origin: 'https://app.example:8443', host: 'app.example:8443' }
  },
  {
    uri: 'https://localhost/cb',
    target: { kind: 'web', origin: 'https://localhost', host: 'localhost' }
  },
  {
    uri: 'http://127.0.0.1:5000/cb',
    target: { kind: 'loopback', origin: 'http://127.0.0.1:5000', host: '127.0.0.1:5000' }
  },
  {
    uri: 'http://[::1]/cb',
    target: { kind: 'loopback', origin: 'http://[::1]', host: '[::1]' }
  },
  {
    uri: 'http://localhost.evil.example/',
    target: { kind: 'web', origin: 'http://localhost.evil.example', host: 'localhost.evil.example' }
  },
  { uri: 'com.example.app:/cb', target: { kind: 'app', scheme: 'com.example.app:' } },
  { uri: 'com.example.app://host/cb', target: { kind: 'app', scheme: 'com.example.app:' } }
])('redirect target: $uri leads to $target', ({ uri, target }) => {
  expect(redirectTarget(uri)).toEqual(target)
})

test.each([
  'http://127.0.0.1/cb',
  'http://[::1]:5000/cb',
  'http://localhost/cb',
  'com.example.app:/cb',
  'https://localhost/cb',
  'https://localhost:8443/cb',
  'https://localhost./cb',
  'https://app.localhost/cb',
  'https://127.0.0.1/cb',
  'https://127.1.2.3/cb',
  'https://[::1]/cb'
])('a program on the device receives the response to %s', (uri) => {
  expect(leadsToOwnDevice(uri)).toBe(true)
})

test.each([
  'https://app.example/cb',
  'https://localhost.evil.example/cb',
  'https://evil-localhost/cb',
  'https://127.0.0.1.evil.example/cb',
  'https://128.0.0.1/cb',
  'https://[::2]/cb'
])('a web host receives the response to %s', (uri) => {
  expect(leadsToOwnDevice(uri)).toBe(false)
})

test('a URL outside ASCII is parsed also by compiled code', () => {
  const hosts = new Set(Array.from({ length: 50_000 }, () => parseUrl('https://b\u00fccher.example/cb')?.hostname))
  expect([...hosts]).toEqual(['xn--bcher-kva.example'])
})
