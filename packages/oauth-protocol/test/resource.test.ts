import { runInNewContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isSameResource, normalResource } from '../src/resource.js'

test.each([
  { name: 'an empty path and /', one: 'https://h.example', other: 'https://h.example/', same: true },
  { name: 'an empty path and / before a query', one: 'https://h.example?a', other: 'https://h.example/?a', same: true },
  { name: 'a scheme in upper case', one: 'HTTPS://h.example/', other: 'https://h.example/', same: true },
  { name: 'a host in upper case', one: 'https://H.Example/x', other: 'https://h.example/x', same: true },
  { name: 'the default port of https', one: 'https://h.example:443/x', other: 'https://h.example/x', same: true },
  { name: 'the default port of http', one: 'http://h.example:80', other: 'http://h.example/', same: true },
  { name: 'an empty port', one: 'https://h.example:/x', other: 'https://h.example/x', same: true },
  { name: 'an IPv6 host with the default port', one: 'http://[::1]:80', other: 'http://[::1]/', same: true },
  { name: 'the port of the other scheme', one: 'https://h.example:80/', other: 'https://h.example/', same: false },
  { name: 'another port', one: 'https://h.example:8443/', other: 'https://h.example/', same: false },
  { name: 'another scheme', one: 'http://h.example/', other: 'https://h.example/', same: false },
  { name: 'a slash after a path', one: 'https://h.example/mcp', other: 'https://h.example/mcp/', same: false },
  { name: 'a path in upper case', one: 'https://h.example/MCP', other: 'https://h.example/mcp', same: false },
  { name: 'an encoded character', one: 'https://h.example/%61', other: 'https://h.example/a', same: false },
  { name: 'an encoding in upper case', one: 'https://h.example/%2F', other: 'https://h.example/%2f', same: false },
  { name: 'a dot segment', one: 'https://h.example/a/../b', other: 'https://h.example/b', same: false },
  { name: 'an empty query', one: 'https://h.example/?', other: 'https://h.example/', same: false },
  { name: 'a fragment', one: 'https://h.example/#x', other: 'https://h.example/', same: false },
  { name: 'a fragment after an empty path', one: 'https://h.example#x', other: 'https://h.example', same: false },
  { name: 'a user name', one: 'https://a@h.example/', other: 'https://h.example/', same: false },
  { name: 'a user name in upper case', one: 'https://A@h.example/', other: 'https://a@h.example/', same: false },
  { name: 'a last dot in the host', one: 'https://h.example./', other: 'https://h.example/', same: false },
  { name: 'a backslash for a slash', one: 'https://h.example\\x', other: 'https://h.example/x', same: false },
  { name: 'a space before it', one: ' https://h.example', other: 'https://h.example', same: false },
  { name: 'a line break after it', one: 'https://h.example\n', other: 'https://h.example', same: false },
  { name: 'other schemes', one: 'urn:Files', other: 'urn:files', same: false }
])('resource: $name: the same is $same (RFC 3986 §6.2.2.1, §6.2.3)', ({ one, other, same }) => {
  expect(isSameResource(one, other)).toBe(same)
  expect(isSameResource(other, one)).toBe(same)
})

test('resource: the serialization of a URL parser is the same resource, for plain paths', () => {
  for (const identifier of [
    'https://H.example',
    'https://h.example:443',
    'http://h.example:8080/a',
    'HTTP://h.example:80/a/'
  ])
    expect(isSameResource(new URL(identifier).href, identifier)).toBe(true)
})

test('resource: the normal form of a normal form is itself, for any text', () => {
  const texts = fc.oneof(
    fc.webUrl({ withQueryParameters: true }),
    fc.string(),
    fc.string().map((text) => `https://${text}`)
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect(normalResource(normalResource(text))).toBe(normalResource(text))
    })
  )
})

// With a pattern that backtracks, each of these takes minutes.
test.each(['@', 'a@', '@:1', '[a]@', '[', '[@', ':', 'a:'])(
  'resource: the time for a long identifier of "%s" grows with its length, not with the square',
  (part) => {
    for (const end of ['', '[', '@[', ':x', ']']) {
      const identifier = `http://${part.repeat(200_000 / part.length)}${end}`
      const compared = runInNewContext(
        'normalResource(identifier)',
        { normalResource, identifier },
        { timeout: 60_000 }
      )
      expect(typeof compared).toBe('string')
    }
  }
)
