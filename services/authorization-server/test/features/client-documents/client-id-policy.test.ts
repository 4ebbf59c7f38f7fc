import { describe, expect, test } from '@jest/globals'
import {
  type ClientIdPattern,
  type ClientIdPolicy,
  isAcceptedClientId,
  readClientIdPattern
} from '../../../src/features/client-documents/client-id-policy.js'

const RULE = { allowsLoopback: false }

function policy(
  mode: ClientIdPolicy['mode'],
  allow: readonly string[] = [],
  deny: readonly string[] = []
): ClientIdPolicy {
  const read = (texts: readonly string[]) => texts.map((text) => readClientIdPattern(text, RULE) as ClientIdPattern)
  return { mode, allow: read(allow), deny: read(deny), allowsLoopback: false }
}

describe('client ids that are accepted', () => {
  test.each([
    ['off', policy('off', ['app.example']), 'https://app.example/c', false],
    ['open', policy('open'), 'https://app.example/c', true],
    ['open, another host denied', policy('open', [], ['evil.example']), 'https://app.example/c', true],
    ['open, the host denied', policy('open', [], ['app.example']), 'https://app.example/c', false],
    ['open, the host denied, with a port', policy('open', [], ['app.example']), 'https://app.example:8443/c', false],
    ['open, subdomains denied', policy('open', [], ['*.example']), 'https://app.example/c', false],
    ['open, one URL denied', policy('open', [], ['https://app.example/c']), 'https://app.example/c', false],
    ['open, another URL denied', policy('open', [], ['https://app.example/c']), 'https://app.example/d', true],
    ['listed, the host allowed', policy('listed', ['app.example']), 'https://app.example/c', true],
    ['listed, a host that ends alike', policy('listed', ['app.example']), 'https://myapp.example/c', false],
    ['listed, a subdomain of the host', policy('listed', ['app.example']), 'https://a.app.example/c', false],
    ['listed, a subdomain', policy('listed', ['*.app.example']), 'https://a.b.app.example/c', true],
    ['listed, the parent of the subdomains', policy('listed', ['*.app.example']), 'https://app.example/c', false],
    ['listed, the URL', policy('listed', ['https://app.example/c']), 'https://app.example/c', true],
    ['listed, a longer URL', policy('listed', ['https://app.example/c']), 'https://app.example/c/d', false],
    ['listed, nothing of it', policy('listed', ['other.example']), 'https://app.example/c', false],
    ['listed, allowed and denied', policy('listed', ['*.example'], ['app.example']), 'https://app.example/c', false],
    ['open, an id that is no client id URL', policy('open'), 'https://app.example/', false],
    ['open, a registered client id', policy('open'), 'client_1', false],
    ['open, the loopback interface', policy('open'), 'https://localhost/c', false]
  ] as const)('%s: %s is %s', (_what, given, clientId, expected) => {
    expect(isAcceptedClientId(clientId, given)).toBe(expected)
  })
})

describe('items of the lists', () => {
  test.each([
    'App.example',
    'app',
    '*',
    '*.',
    '*.example.',
    'app.*.example',
    '10.0.0.1',
    '[::1]',
    'app.example:8443',
    ''
  ])('the item %j is refused', (text) => {
    expect(readClientIdPattern(text, RULE)).toContain(JSON.stringify(text))
  })

  test.each(['http://app.example/c', 'https://app.example/', 'https://localhost/c', 'app.example/c'])(
    'the URL %s is refused with the reason',
    (text) => {
      expect(readClientIdPattern(text, RULE)).toMatch(/^has the URL .* which must/)
    }
  )
})
