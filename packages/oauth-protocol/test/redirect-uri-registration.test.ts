import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isRegisteredRedirectUri, objectionToRedirectUri } from '../src/redirect-uri.js'

test.each([
  'https://app.example',
  'https://app.example/',
  'https://app.example/cb',
  'https://app.example/a/b.c/d-e_f~g',
  'https://app.example/cb?a=1&b=%20',
  'https://app.example:8443/cb',
  'https://xn--bcher-kva.example/cb',
  'https://under_score.example/cb',
  'https://192.0.2.1/cb',
  'https://[2001:db8::1]:8443/cb',
  'https://localhost/cb',
  'https://app.example/%C3%A9',
  'https://app.example/@user;v=1',
  'http://127.0.0.1',
  'http://127.0.0.1/',
  'http://127.0.0.1/cb',
  'http://127.0.0.1:8080',
  'http://127.0.0.1:8080/cb?a=1',
  'http://127.0.0.1:65535/cb',
  'http://[::1]/cb',
  'http://[::1]:8080/cb',
  'http://localhost/cb',
  'http://localhost:3000/cb',
  'com.example.app:/cb',
  'com.example.app://cb',
  'com.example.app://host/cb?a=1',
  'com.example.app:',
  'org.example-app.a1+b:/oauth2redirect',
  `https://app.example/${'a'.repeat(1980)}`
])('registration: %s is accepted (RFC 6749 §3.1.2, RFC 8252 §7)', (uri) => {
  expect(objectionToRedirectUri(uri)).toBeUndefined()
  expect(isRegisteredRedirectUri(uri, [uri])).toBe(true)
})

const NOT_ASCII = /printable ASCII/
const NOT_ABSOLUTE = /absolute URI/
const BAD_SCHEME = /must be https, http on/
const NOT_NORMAL = /normal form/
const FRAGMENT = /fragment/
const WILDCARD = /wildcards/
const USER = /user/
const BAD_CHARACTER = /backslashes, quotes/
const BAD_HOST = /host/

test.each([
  { uri: '', objection: NOT_ASCII },
  { uri: 'https://app.example/a b', objection: NOT_ASCII },
  { uri: ' https://app.example/cb', objection: NOT_ASCII },
  { uri: 'https://app.example/cb\n', objection: NOT_ASCII },
  { uri: 'https://app.exa\tmple/cb', objection: NOT_ASCII },
  { uri: 'https://app.example/cb\u0000', objection: NOT_ASCII },
  { uri: 'https://app.example/cb\u007f', objection: NOT_ASCII },
  { uri: 'https://b\u00fccher.example/cb', objection: NOT_ASCII },
  { uri: 'https://app.example/\u00e9', objection: NOT_ASCII },
  { uri: `https://app.example/${'a'.repeat(1981)}`, objection: /2000/ },
  { uri: 'https://app.example\\cb', objection: BAD_CHARACTER },
  { uri: 'https:\\\\app.example/cb', objection: BAD_CHARACTER },
  { uri: 'https://app.example/"', objection: BAD_CHARACTER },
  { uri: 'https://app.example/<cb>', objection: BAD_CHARACTER },
  { uri: 'https://app.example/{cb}', objection: BAD_CHARACTER },
  { uri: 'https://app.example/a|b', objection: BAD_CHARACTER },
  { uri: 'https://app.example/a^b', objection: BAD_CHARACTER },
  { uri: 'https://app.example/a`b', objection: BAD_CHARACTER },
  { uri: 'https://*.app.example/cb', objection: WILDCARD },
  { uri: 'https://app.example/*', objection: WILDCARD },
  { uri: 'https://app.example:*/cb', objection: WILDCARD },
  { uri: 'com.example.*:/cb', objection: WILDCARD },
  { uri: '*', objection: WILDCARD },
  { uri: 'https://app.example/cb#x', objection: FRAGMENT },
  { uri: 'https://app.example/cb#', objection: FRAGMENT },
  { uri: 'com.example.app:/cb#x', objection: FRAGMENT },
  { uri: 'http://127.0.0.1/cb#x', objection: FRAGMENT },
  { uri: 'https://app.example/cb?code=x', objection: /code in its query/ },
  { uri: 'https://app.example/cb?a=1&state=x', objection: /state in its query/ },
  { uri: 'com.example.app:/cb?iss=x', objection: /iss in its query/ },
  { uri: 'https://app.example/cb?%65rror=x', objection: /error in its query/ },
  { uri: '/cb', objection: NOT_ABSOLUTE },
  { uri: 'cb', objection: NOT_ABSOLUTE },
  { uri: 'app.example/cb', objection: NOT_ABSOLUTE },
  { uri: '//app.example/cb', objection: NOT_ABSOLUTE },
  { uri: 'https://', objection: NOT_ABSOLUTE },
  { uri: 'https://app.example:99999/cb', objection: NOT_ABSOLUTE },
  { uri: 'http://localhost:99999/', objection: NOT_ABSOLUTE },
  { uri: 'https://user@app.example/cb', objection: USER },
  { uri: 'https://user:secret@app.example/cb', objection: USER },
  { uri: 'https://:secret@app.example/cb', objection: USER },
  { uri: 'https://@app.example/cb', objection: USER },
  { uri: 'https://:@app.example/cb', objection: USER },
  { uri: 'http://127.0.0.1:80@evil.example/', objection: USER },
  { uri: 'com.example.app://user@host/cb', objection: USER },
  { uri: 'com.example.app://@host/cb', objection: USER },
  { uri: 'https://app.example;script-src/cb', objection: BAD_HOST },
  { uri: 'https://app.example,evil.example/cb', objection: BAD_HOST },
  { uri: "https://app.example'/cb", objection: BAD_HOST },
  { uri: 'https://app$example/cb', objection: BAD_HOST },
  { uri: 'javascript:alert(1)', objection: BAD_SCHEME },
  { uri: 'JavaScript:alert(1)', objection: BAD_SCHEME },
  { uri: 'javascript://app.example/%0aalert(1)', objection: BAD_SCHEME },
  { uri: 'data:text/html,x', objection: BAD_SCHEME },
  { uri: 'data:text/html;base64,eA==', objection: BAD_SCHEME },
  { uri: 'file:///etc/passwd', objection: BAD_SCHEME },
  { uri: 'vbscript:x', objection: BAD_SCHEME },
  { uri: 'blob:https://app.example/1', objection: BAD_SCHEME },
  { uri: 'about:blank', objection: BAD_SCHEME },
  { uri: 'view-source:https://app.example/', objection: BAD_SCHEME },
  { uri: 'filesystem:https://app.example/', objection: BAD_SCHEME },
  { uri: 'mailto:someone.example', objection: BAD_SCHEME },
  { uri: 'ftp://app.example/cb', objection: BAD_SCHEME },
  { uri: 'ws://127.0.0.1/cb', objection: BAD_SCHEME },
  { uri: 'urn:ietf:wg:oauth:2.0:oob', objection: BAD_SCHEME },
  { uri: 'myapp:/cb', objection: BAD_SCHEME },
  { uri: 'myapp://cb', objection: BAD_SCHEME },
  { uri: 'myapp.:/cb', objection: BAD_SCHEME },
  { uri: 'com..example:/cb', objection: BAD_SCHEME },
  { uri: 'http://app.example/cb', objection: BAD_SCHEME },
  { uri: 'http://10.0.0.1/cb', objection: BAD_SCHEME },
  { uri: 'http://127.0.0.2/cb', objection: BAD_SCHEME },
  { uri: 'http://0.0.0.0/cb', objection: BAD_SCHEME },
  { uri: 'http://127.1/cb', objection: BAD_SCHEME },
  { uri: 'http://127a0b0c1/cb', objection: BAD_SCHEME },
  { uri: 'http://127.0.0.1.evil.example/', objection: BAD_SCHEME },
  { uri: 'http://localhost.evil.example/', objection: BAD_SCHEME },
  { uri: 'http://a.localhost/cb', objection: BAD_SCHEME },
  { uri: 'http://LOCALHOST/cb', objection: BAD_SCHEME },
  { uri: 'http://localhost:0/cb', objection: BAD_SCHEME },
  { uri: 'http://[0:0:0:0:0:0:0:1]/cb', objection: BAD_SCHEME },
  { uri: 'http://[::ffff:127.0.0.1]/cb', objection: BAD_SCHEME },
  { uri: 'COM.example.app:/cb', objection: /lower case/ },
  { uri: 'HTTPS://app.example/cb', objection: NOT_NORMAL },
  { uri: 'https://App.example/cb', objection: NOT_NORMAL },
  { uri: 'https://app.example:443/cb', objection: NOT_NORMAL },
  { uri: 'https://app.example:/cb', objection: NOT_NORMAL },
  { uri: 'https://app.example?a=1', objection: NOT_NORMAL },
  { uri: 'https://app.example/a/../cb', objection: NOT_NORMAL },
  { uri: 'https://app.example/./cb', objection: NOT_NORMAL },
  { uri: 'https://app.example/a/%2e%2e/cb', objection: NOT_NORMAL },
  { uri: 'https:app.example/cb', objection: NOT_NORMAL },
  { uri: 'https:///app.example/cb', objection: NOT_NORMAL },
  { uri: 'https://app%2Eexample/cb', objection: NOT_NORMAL },
  { uri: 'https://0x7f.1/cb', objection: NOT_NORMAL },
  { uri: 'http://localhost:80/cb', objection: NOT_NORMAL },
  { uri: 'http://127.0.0.1/a/../cb', objection: NOT_NORMAL }
])('registration: $uri is refused (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §2.1)', ({ uri, objection }) => {
  expect(objectionToRedirectUri(uri)).toMatch(objection)
})

test.each([
  ['https://b\u00fccher.example/cb', 'https://xn--bcher-kva.example/cb'],
  ['https://B\u00dcCHER.example:8443/cb', 'https://xn--bcher-kva.example:8443/cb'],
  ['https://\u4f8b\u3048.example/\u00e9?a=1', 'https://xn--r8jz45g.example/%C3%A9?a=1'],
  ['https://xn--bcher-kva.b\u00fccher.example/cb', 'https://xn--bcher-kva.xn--bcher-kva.example/cb']
])('registration: for the IDN host of %s, the message names %s', (uri, ascii) => {
  expect(objectionToRedirectUri(uri)).toBe(`must be printable ASCII, with the host in its xn-- form: ${ascii}`)
  expect(objectionToRedirectUri(ascii)).toBeUndefined()
})

test.each(['https://xn--bcher-kva.example/\u00e9', 'https://b\u00fccher.example/a b', 'b\u00fccher.example/cb'])(
  'registration: for %s, the message names no other URI',
  (uri) => expect(objectionToRedirectUri(uri)).toBe('must be printable ASCII without spaces')
)

test('registration: an accepted URI is normalised and has no fragment, no user and no scheme that can run code', () => {
  const scheme = fc.constantFrom('https:', 'http:', 'HTTPS:', 'javascript:', 'data:', 'com.example.app:', 'myapp:', '')
  const host = fc.constantFrom('//app.example', '//localhost:1', '//127.0.0.1', '//[::1]:1', '//u@h', '//@h', '/', '')
  const rest = fc.array(
    fc.constantFrom('/', 'a', '..', '.', '?', '#', '%41', '%2e', '@', ':', '\\', '*', ' ', 'é', ';')
  )
  fc.assert(
    fc.property(scheme, host, rest, (first, second, third) => {
      const uri = first + second + third.join('')
      if (objectionToRedirectUri(uri) !== undefined) return
      const url = new URL(uri)
      expect(uri).toMatch(/^[\x21-\x7e]+$/)
      expect(url).toMatchObject({ hash: '', username: '', password: '' })
      expect(url.protocol).toMatch(/^(https?:|com\.example\.app:)$/)
      if (url.protocol === 'http:') expect(url.hostname).toMatch(/^(127\.0\.0\.1|\[::1\]|localhost)$/)
      if (url.protocol !== 'com.example.app:') expect([uri, `${uri}/`]).toContain(url.href)
    }),
    { numRuns: 1000 }
  )
})
