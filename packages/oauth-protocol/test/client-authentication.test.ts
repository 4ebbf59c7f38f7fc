import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type ClientCredentials, decodeBasic, readClientCredentials } from '../src/client-authentication.js'
import { parseParameters } from '../src/parameters.js'

const basic = (userPass: string | Uint8Array) => `Basic ${Buffer.from(userPass).toString('base64')}`
const read = (authorization: readonly string[], form: string) =>
  readClientCredentials(authorization, parseParameters(form))

const bySecret = (method: 'client_secret_basic' | 'client_secret_post'): ClientCredentials => ({
  kind: 'secret',
  method,
  clientId: 'app',
  clientSecret: 'secret'
})
const BY_HEADER = bySecret('client_secret_basic')
const BY_BODY = bySecret('client_secret_post')
const NO_CREDENTIALS: ClientCredentials = { kind: 'unusable', usedHeader: false, reason: 'no_credentials' }
const OTHER_SCHEME: ClientCredentials = { kind: 'unusable', usedHeader: true, reason: 'other_scheme' }
const BAD_BASIC: ClientCredentials = { kind: 'unusable', usedHeader: true, reason: 'bad_basic' }

test.each<{ name: string; headers: string[]; form: string; credentials: ClientCredentials }>([
  { name: 'nothing', headers: [], form: '', credentials: NO_CREDENTIALS },
  { name: 'another parameter only', headers: [], form: 'code=x', credentials: NO_CREDENTIALS },
  { name: 'a secret without an id', headers: [], form: 'client_secret=secret', credentials: NO_CREDENTIALS },
  { name: 'a secret and an empty id', headers: [], form: 'client_id=&client_secret=s', credentials: NO_CREDENTIALS },
  { name: 'id and secret in the body', headers: [], form: 'client_id=app&client_secret=secret', credentials: BY_BODY },
  {
    name: 'id and secret in the body, form-encoded',
    headers: [],
    form: 'client_id=%61pp&client_secret=s%65cret',
    credentials: BY_BODY
  },
  {
    name: 'an id in the body',
    headers: [],
    form: 'client_id=app',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: false }
  },
  {
    name: 'an id and an empty secret in the body',
    headers: [],
    form: 'client_id=app&client_secret=',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: false }
  },
  { name: 'Basic', headers: [basic('app:secret')], form: '', credentials: BY_HEADER },
  { name: 'Basic and the same id', headers: [basic('app:secret')], form: 'client_id=app', credentials: BY_HEADER },
  { name: 'Basic and an empty id', headers: [basic('app:secret')], form: 'client_id=', credentials: BY_HEADER },
  {
    name: 'Basic and an empty secret in the body',
    headers: [basic('app:secret')],
    form: 'client_id=app&client_secret=',
    credentials: BY_HEADER
  },
  {
    name: 'Basic with an empty secret',
    headers: [basic('app:')],
    form: '',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: true }
  },
  {
    name: 'Basic with an empty secret and the same id',
    headers: [basic('app:')],
    form: 'client_id=app',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: true }
  },
  { name: 'Basic without a colon', headers: [basic('app')], form: '', credentials: BAD_BASIC },
  { name: 'Basic without an id', headers: [basic(':secret')], form: '', credentials: BAD_BASIC },
  { name: 'Basic without credentials', headers: ['Basic'], form: '', credentials: BAD_BASIC },
  { name: 'Basic and a blank', headers: ['Basic '], form: '', credentials: BAD_BASIC },
  { name: 'Basic in the clear', headers: ['Basic app:secret'], form: '', credentials: BAD_BASIC },
  {
    name: 'bad Basic and credentials in the body',
    headers: ['Basic !'],
    form: 'client_id=app&client_secret=secret',
    credentials: BAD_BASIC
  },
  { name: 'Bearer', headers: ['Bearer abc'], form: '', credentials: OTHER_SCHEME },
  { name: 'Digest', headers: ['Digest username="app"'], form: '', credentials: OTHER_SCHEME },
  { name: 'a scheme that begins like Basic', headers: ['Basics YTpi'], form: '', credentials: OTHER_SCHEME },
  { name: 'credentials without a scheme', headers: ['YTpi'], form: '', credentials: OTHER_SCHEME },
  { name: 'an empty header', headers: [''], form: '', credentials: OTHER_SCHEME },
  {
    name: 'Bearer and credentials in the body',
    headers: ['Bearer abc'],
    form: 'client_id=app&client_secret=secret',
    credentials: OTHER_SCHEME
  }
])('client authentication: $name is read as $credentials (RFC 6749 §2.3.1)', ({ headers, form, credentials }) => {
  expect(read(headers, form)).toEqual(credentials)
})

const HEADER = basic('app:secret')

test.each([
  { name: 'two Basic headers', headers: [HEADER, HEADER], form: '', description: /More than one/ },
  { name: 'Basic and Bearer', headers: [HEADER, 'Bearer abc'], form: '', description: /More than one/ },
  { name: 'Bearer and Basic', headers: ['Bearer abc', HEADER], form: '', description: /More than one/ },
  { name: 'Basic and a secret in the body', headers: [HEADER], form: 'client_secret=secret', description: /Two ways/ },
  {
    name: 'the same credentials in both places',
    headers: [HEADER],
    form: 'client_id=app&client_secret=secret',
    description: /Two ways/
  },
  {
    name: 'an empty secret in the header and one in the body',
    headers: [basic('app:')],
    form: 'client_id=app&client_secret=secret',
    description: /Two ways/
  },
  { name: 'Basic and another id', headers: [HEADER], form: 'client_id=other', description: /differs/ },
  { name: 'Basic and the id in other case', headers: [HEADER], form: 'client_id=App', description: /differs/ },
  {
    name: 'Basic with an empty secret and another id',
    headers: [basic('app:')],
    form: 'client_id=other',
    description: /differs/
  },
  { name: 'two ids', headers: [], form: 'client_id=app&client_id=other&client_secret=s', description: /client_id/ },
  { name: 'the same id twice', headers: [], form: 'client_id=app&client_id=app', description: /client_id/ },
  { name: 'two secrets', headers: [], form: 'client_id=a&client_secret=b&client_secret=c', description: /_secret/ },
  { name: 'two ids beside Basic', headers: [HEADER], form: 'client_id=app&client_id=app', description: /client_id/ },
  {
    name: 'two secrets beside Basic',
    headers: [HEADER],
    form: 'client_secret=a&client_secret=b',
    description: /_secret/
  },
  { name: 'a NUL in the id', headers: [], form: 'client_id=a%00&client_secret=b', description: /client_id/ },
  { name: 'an id that is not UTF-8', headers: [], form: 'client_id=%ff&client_secret=b', description: /client_id/ },
  { name: 'a secret that is not UTF-8', headers: [], form: 'client_id=a&client_secret=%ff', description: /_secret/ }
])('client authentication: $name is no way to authenticate (RFC 6749 §2.3)', ({ headers, form, description }) => {
  expect(read(headers, form)).toEqual({ kind: 'malformed', description: expect.stringMatching(description) })
})

describe('Basic credentials', () => {
  test.each([
    { name: 'the example of the RFC', header: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', pair: ['Aladdin', 'open sesame'] },
    { name: 'the scheme in small letters', header: 'basic YTpi', pair: ['a', 'b'] },
    { name: 'the scheme in capitals', header: 'BASIC YTpi', pair: ['a', 'b'] },
    { name: 'several blanks', header: 'Basic   YTpi', pair: ['a', 'b'] },
    { name: 'a blank at the end', header: 'Basic YTpi ', pair: ['a', 'b'] },
    { name: 'no padding', header: 'Basic YTpiYg', pair: ['a', 'bb'] },
    { name: 'colons in the secret', header: basic('a:b:c:'), pair: ['a', 'b:c:'] },
    { name: 'an encoded colon in the id', header: basic('a%3Ab:c'), pair: ['a:b', 'c'] },
    { name: 'an encoded colon in the secret', header: basic('a:b%3Ac'), pair: ['a', 'b:c'] },
    { name: 'plus signs for blanks', header: basic('a+b:c+d'), pair: ['a b', 'c d'] },
    { name: 'encoded UTF-8', header: basic('%C3%A9:%f0%9f%94%91'), pair: ['é', '🔑'] },
    { name: 'raw UTF-8', header: basic('é:🔑'), pair: ['é', '🔑'] },
    { name: 'a raw percent sign in the secret', header: basic('a%41:100%'), pair: ['aA', '100%'] },
    { name: 'a raw percent sign in the id', header: basic('100%:a%41'), pair: ['100%', 'aA'] },
    { name: 'an empty secret', header: basic('a:'), pair: ['a', ''] }
  ])('Basic: $name is read as $pair (RFC 7617 §2, RFC 6749 §2.3.1)', ({ header, pair: [clientId, clientSecret] }) => {
    expect(decodeBasic(header)).toEqual({ clientId, clientSecret })
  })

  test.each([
    { name: 'the scheme alone', header: 'Basic' },
    { name: 'no blank', header: 'BasicYTpi' },
    { name: 'a tab for the blank', header: 'Basic\tYTpi' },
    { name: 'base64url', header: 'Basic YTpi_w' },
    { name: 'a character outside base64', header: 'Basic YTp!' },
    { name: 'two values', header: 'Basic YTpi YTpi' },
    { name: 'two values in one header', header: 'Basic YTpi, Basic YTpi' },
    { name: 'padding in the middle', header: 'Basic YT==pi' },
    { name: 'three signs of padding', header: 'Basic YTpi===' },
    { name: 'padding alone', header: 'Basic ==' },
    { name: 'another scheme', header: 'Bearer YTpi' },
    { name: 'an empty id', header: basic(':b') },
    { name: 'no colon', header: basic('ab') },
    { name: 'only an encoded colon', header: basic('a%3Ab') },
    { name: 'a NUL in the id', header: basic('a\u0000:b') },
    { name: 'a NUL in the secret', header: basic('a:b\u0000') },
    { name: 'an encoded NUL in the id', header: basic('a%00:b') },
    { name: 'an encoded line feed in the secret', header: basic('a:b%0A') },
    { name: 'DEL', header: basic('a:\u007f') },
    { name: 'an id that is not UTF-8', header: basic(Uint8Array.of(0xff, 0x3a, 0x62)) },
    { name: 'a secret that is not UTF-8', header: basic(Uint8Array.of(0x61, 0x3a, 0xe9)) }
  ])('Basic: $name is not readable (RFC 7617 §2)', ({ header }) => {
    expect(decodeBasic(header)).toBeUndefined()
  })

  test('Basic: identifiers and secrets of ours are the same bytes, encoded and raw (RFC 6749 §2.3.1)', () => {
    const ours = fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/)
    fc.assert(
      fc.property(ours, ours, (clientId, clientSecret) => {
        const encoded = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
        expect(encoded).toBe(`${clientId}:${clientSecret}`)
        expect(decodeBasic(basic(encoded))).toEqual({ clientId, clientSecret })
      })
    )
  })

  test('Basic: form-encoded credentials are read back, whatever is in them (RFC 6749 §2.3.1)', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => !/\p{Cc}/u.test(value))
    const encode = (value: string) => new URLSearchParams([['', value]]).toString().slice(1)
    fc.assert(
      fc.property(text, text, (clientId, clientSecret) => {
        expect(decodeBasic(basic(`${encode(clientId)}:${encode(clientSecret)}`))).toEqual({ clientId, clientSecret })
      })
    )
  })

  test('Basic: raw bytes are read as they are or not at all (RFC 7617 §2)', () => {
    const rawBytes = fc
      .uint8Array({ maxLength: 12 })
      .filter((bytes) => !bytes.some((byte) => byte === 0x25 || byte === 0x2b))
    fc.assert(
      fc.property(rawBytes, (bytes) => {
        const secret = decodeBasic(basic(Buffer.concat([Buffer.from('a:'), bytes])))?.clientSecret
        if (secret === undefined) return
        expect(Buffer.from(secret)).toEqual(Buffer.from(bytes))
        expect(secret).not.toMatch(/\p{Cc}/u)
      })
    )
  })
})
