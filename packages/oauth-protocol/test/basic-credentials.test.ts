import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readBasicCredentials, usesBasicScheme } from '../src/basic-credentials.js'

const basic = (userPass: string | Uint8Array) => `Basic ${Buffer.from(userPass).toString('base64')}`

test.each([
  { header: 'Basic YTpi', expected: true },
  { header: 'bASIC', expected: true },
  { header: 'Basics YTpi', expected: false },
  { header: 'Bearer YTpi', expected: false },
  { header: '', expected: false }
])('usesBasicScheme: "$header" gives $expected', ({ header, expected }) => {
  expect(usesBasicScheme(header)).toBe(expected)
})

test.each([
  { name: 'the example of the RFC', header: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', pair: ['Aladdin', 'open sesame'] },
  { name: 'a lower-case scheme', header: 'basic YTpi', pair: ['a', 'b'] },
  { name: 'an upper-case scheme', header: 'BASIC YTpi', pair: ['a', 'b'] },
  { name: 'several spaces', header: 'Basic   YTpi', pair: ['a', 'b'] },
  { name: 'a space at the end', header: 'Basic YTpi ', pair: ['a', 'b'] },
  { name: 'no padding', header: 'Basic YTpiYg', pair: ['a', 'bb'] },
  { name: 'colons in the secret', header: basic('a:b:c:'), pair: ['a', 'b:c:'] },
  { name: 'an encoded colon in the id', header: basic('a%3Ab:c'), pair: ['a:b', 'c'] },
  { name: 'raw UTF-8', header: basic('é:🔑'), pair: ['é', '🔑'] },
  { name: 'a raw percent sign in the secret', header: basic('a%41:100%'), pair: ['aA', '100%'] },
  { name: 'a raw slash and padding in the secret', header: basic('a:b/c=='), pair: ['a', 'b/c=='] },
  { name: 'an empty secret', header: basic('a:'), pair: ['a', ''] }
])(
  'Basic credentials: $name are read as $pair (RFC 7617 §2, RFC 6749 §2.3.1)',
  ({ header, pair: [clientId, clientSecret] }) => {
    expect(readBasicCredentials(header)).toEqual({ clientId, clientSecrets: [clientSecret] })
  }
)

test.each([
  { name: 'a percent-encoded character', sent: 'b%3Ac', secrets: ['b%3Ac', 'b:c'] },
  { name: 'encoded UTF-8', sent: '%f0%9f%94%91', secrets: ['%f0%9f%94%91', '🔑'] },
  { name: 'a plus sign', sent: 'c+d', secrets: ['c+d', 'c d'] },
  { name: 'a plus sign and a percent-encoded one', sent: 'c+d%2B', secrets: ['c+d%2B', 'c+d+', 'c d+'] },
  { name: 'an encoded line feed', sent: 'b%0A', secrets: ['b%0A'] },
  { name: 'an encoding that is not UTF-8', sent: 'b%ff', secrets: ['b%ff'] },
  { name: 'a plus sign and an incomplete encoding', sent: 'b+%4', secrets: ['b+%4'] }
])(
  'Basic credentials: a secret with $name may be raw, percent-encoded or form-encoded (RFC 6749 §2.3.1)',
  ({ sent, secrets }) => {
    expect(readBasicCredentials(basic(`a%2Db:${sent}`))).toEqual({ clientId: 'a-b', clientSecrets: secrets })
  }
)

test.each([
  { name: 'plus signs', sent: 'a+b', clientId: 'a b' },
  { name: 'encoded UTF-8', sent: '%C3%A9', clientId: 'é' },
  { name: 'a raw percent sign', sent: '100%', clientId: '100%' }
])('Basic credentials: an id with $name has one reading (RFC 6749 §2.3.1)', ({ sent, clientId }) => {
  expect(readBasicCredentials(basic(`${sent}:c`))).toEqual({ clientId, clientSecrets: ['c'] })
})

test.each([
  { name: 'the scheme alone', header: 'Basic' },
  { name: 'no space', header: 'BasicYTpi' },
  { name: 'a tab instead of the space', header: 'Basic\tYTpi' },
  { name: 'base64url', header: 'Basic YTpi_w' },
  { name: 'a character outside base64', header: 'Basic YTp!' },
  { name: 'two values', header: 'Basic YTpi YTpi' },
  { name: 'two values in one header', header: 'Basic YTpi, Basic YTpi' },
  { name: 'padding in the middle', header: 'Basic YT==pi' },
  { name: 'three padding characters', header: 'Basic YTpi===' },
  { name: 'padding alone', header: 'Basic ==' },
  { name: 'another scheme', header: 'Bearer YTpi' },
  { name: 'an empty id', header: basic(':b') },
  { name: 'no colon', header: basic('ab') },
  { name: 'only an encoded colon', header: basic('a%3Ab') },
  { name: 'a NUL in the id', header: basic('a\u0000:b') },
  { name: 'a NUL in the secret', header: basic('a:b\u0000') },
  { name: 'an encoded NUL in the id', header: basic('a%00:b') },
  { name: 'DEL', header: basic('a:\u007f') },
  { name: 'an id that is not UTF-8', header: basic(Uint8Array.of(0xff, 0x3a, 0x62)) },
  { name: 'a secret that is not UTF-8', header: basic(Uint8Array.of(0x61, 0x3a, 0xe9)) }
])('Basic credentials: $name gives undefined (RFC 7617 §2)', ({ header }) => {
  expect(readBasicCredentials(header)).toBeUndefined()
})

const identifier = fc.stringMatching(/^[A-Za-z0-9._~-]{1,60}$/)
/** What `--secret-stdin` accepts. */
const keptSecret = fc.stringMatching(/^[\x21-\x7e]{24,256}$/)
const formEncode = (value: string) => new URLSearchParams([['', value]]).toString().slice(1)

test('Basic credentials: characters of identifiers and issued secrets are not changed by form-encoding (RFC 6749 §2.3.1)', () => {
  fc.assert(
    fc.property(identifier, identifier, (clientId, clientSecret) => {
      const encoded = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
      expect(encoded).toBe(`${clientId}:${clientSecret}`)
      expect(readBasicCredentials(basic(encoded))).toEqual({ clientId, clientSecrets: [clientSecret] })
      // Some libraries encode the tilde, as the form serializer of URLs does.
      const withTilde = readBasicCredentials(basic(encoded.replaceAll('~', '%7E')))
      expect([withTilde?.clientId, withTilde?.clientSecrets.includes(clientSecret)]).toEqual([clientId, true])
    })
  )
})

test.each<{ name: string; encode(value: string): string }>([
  { name: 'raw', encode: (value) => value },
  { name: 'form-encoded', encode: formEncode },
  { name: 'encoded by encodeURIComponent', encode: encodeURIComponent },
  { name: 'encoded by encodeURI', encode: encodeURI },
  { name: 'with every byte encoded', encode: (value) => Buffer.from(value).toString('hex').replace(/../g, '%$&') }
])('Basic credentials: every secret that operators may keep is read when it is sent $name', ({ encode }) => {
  fc.assert(
    fc.property(identifier, keptSecret, (clientId, clientSecret) => {
      const read = readBasicCredentials(basic(`${formEncode(clientId)}:${encode(clientSecret)}`))
      expect(read?.clientId).toBe(clientId)
      expect(read?.clientSecrets).toContain(clientSecret)
      expect(read?.clientSecrets.length).toBeLessThanOrEqual(3)
    })
  )
})

test('Basic credentials: any form-encoded text without control characters is decoded (RFC 6749 §2.3.1)', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => !/\p{Cc}/u.test(value))
  fc.assert(
    fc.property(text, text, (clientId, clientSecret) => {
      const read = readBasicCredentials(basic(`${formEncode(clientId)}:${formEncode(clientSecret)}`))
      expect(read?.clientId).toBe(clientId)
      expect(read?.clientSecrets).toContain(clientSecret)
    })
  )
})

test('Basic credentials: raw bytes are either read unchanged or refused (RFC 7617 §2)', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      const secret = readBasicCredentials(basic(Buffer.concat([Buffer.from('a:'), bytes])))?.clientSecrets[0]
      fc.pre(secret !== undefined)
      expect(Buffer.from(secret)).toEqual(Buffer.from(bytes))
      expect(secret).not.toMatch(/\p{Cc}/u)
    })
  )
})
