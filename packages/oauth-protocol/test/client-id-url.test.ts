import { describe, expect, test } from '@jest/globals'
import { isClientId, isClientIdUrl, objectionToClientIdUrl } from '../src/client-id-url.js'

const RULE = { allowsLoopback: false }

describe('client id URL (draft-ietf-oauth-client-id-metadata-document-02 §3)', () => {
  test.each([
    'https://app.example/client.json',
    'https://claude.ai/oauth/claude-code-client-metadata',
    'https://vscode.dev/oauth/client-metadata.json',
    'https://app.example:8443/client.json',
    'https://app.example/a/b/',
    'https://xn--mnchen-3ya.example/client',
    'https://app.example/caf%C3%A9',
    `https://app.example/${'a'.repeat(480)}`
  ])('%s is accepted', (id) => {
    expect(objectionToClientIdUrl(id, RULE)).toBeUndefined()
  })

  test.each([
    ['no path', 'https://app.example', 'path'],
    ['an empty path', 'https://app.example/', 'path'],
    ['http', 'http://app.example/client', 'https'],
    ['an upper-case scheme', 'HTTPS://app.example/client', 'https'],
    ['another scheme', 'ftp://app.example/client', 'https'],
    ['a query', 'https://app.example/client?a=b', 'query'],
    ['an empty query', 'https://app.example/client?', 'query'],
    ['a fragment', 'https://app.example/client#a', 'fragment'],
    ['a user', 'https://user@app.example/client', 'user'],
    ['an empty user', 'https://@app.example/client', 'user'],
    ['a user that looks like a host', 'https://trusted.example@app.example/client', 'user'],
    ['a dot segment', 'https://app.example/a/../client', 'dot segments'],
    ['a single dot segment', 'https://app.example/./client', 'dot segments'],
    ['an encoded dot segment', 'https://app.example/a/%2e%2E/client', 'dot segments'],
    ['an encoded slash', 'https://app.example/a%2Fclient', 'encoded slashes'],
    ['an encoded backslash', 'https://app.example/a%5cclient', 'encoded slashes'],
    ['an encoded line break', 'https://app.example/a%0Aclient', 'dot segments'],
    ['percent-encoding that is not UTF-8', 'https://app.example/%ff', 'dot segments'],
    ['a malformed percent-encoding', 'https://app.example/%zz', 'dot segments'],
    ['a backslash', 'https://app.example\\@evil.example/client', 'backslashes'],
    ['a space', 'https://app.example/a b', 'printable ASCII'],
    ['a control character', 'https://app.example/a\tb', 'printable ASCII'],
    ['a letter outside of ASCII', 'https://аpp.example/client', 'printable ASCII'],
    ['an upper-case host', 'https://App.example/client', 'normal form'],
    ['the default port', 'https://app.example:443/client', 'normal form'],
    ['a port with zeros', 'https://app.example:08443/client', 'normal form'],
    ['an IPv4 address', 'https://93.184.216.34/client', 'domain name'],
    ['an IPv4 address as one number', 'https://1572395042/client', 'normal form'],
    ['an IPv4 address in hexadecimal', 'https://0x5db8d822/client', 'normal form'],
    ['an IPv6 address', 'https://[2606:4700::1111]/client', 'domain name'],
    ['a host without a dot', 'https://intranet/client', 'domain name'],
    ['a dot at the end of the host', 'https://app.example./client', 'domain name'],
    ['an empty label', 'https://app..example/client', 'domain name'],
    ['an underscore in the host', 'https://my_app.example/client', 'domain name'],
    ['no host', 'https:///client', 'normal form'],
    ['the loopback interface', 'https://localhost/client', 'loopback'],
    ['a loopback address', 'https://127.0.0.1/client', 'loopback'],
    ['501 characters', `https://app.example/${'a'.repeat(481)}`, '500 characters']
  ])('%s is refused', (_what, id, objection) => {
    expect(objectionToClientIdUrl(id, RULE)).toContain(objection)
  })

  test.each(['https://localhost:8443/client', 'https://127.0.0.1:8443/client', 'https://[::1]:8443/client'])(
    '%s is accepted if the loopback interface is allowed',
    (id) => {
      expect(objectionToClientIdUrl(id, { allowsLoopback: true })).toBeUndefined()
      expect(isClientIdUrl(id)).toBe(true)
    }
  )
})

test.each([
  ['a registered client id', 'client_2Vx-9', true],
  ['a client id URL', 'https://app.example/client', true],
  ['a URL that is none', 'https://app.example/client?x', false],
  ['an empty text', '', false]
])('isClientId: %s', (_what, value, expected) => {
  expect(isClientId(value)).toBe(expected)
})
