import { expect, test } from '@jest/globals'
import { carriesAccessToken, readBearerCredentials } from '../src/bearer-token.js'

const token = (accessToken: string) => ({ kind: 'token', accessToken })

test.each([
  { name: 'no header', headers: [], outcome: { kind: 'none' } },
  { name: 'an empty header', headers: [''], outcome: { kind: 'none' } },
  { name: 'a token', headers: ['Bearer abc'], outcome: token('abc') },
  { name: 'a scheme in lower case', headers: ['bearer abc'], outcome: token('abc') },
  { name: 'a scheme in upper case', headers: ['BEARER abc'], outcome: token('abc') },
  { name: 'several spaces', headers: ['Bearer   abc'], outcome: token('abc') },
  { name: 'every character of b64token', headers: ['Bearer aZ09-._~+/=='], outcome: token('aZ09-._~+/==') },
  { name: 'another scheme', headers: ['Basic YTpi'], outcome: { kind: 'other_scheme' } },
  { name: 'a scheme that begins with Bearer', headers: ['BearerX abc'], outcome: { kind: 'other_scheme' } },
  { name: 'a scheme with a further word', headers: ['Bearer-Token abc'], outcome: { kind: 'other_scheme' } },
  { name: 'a bare token', headers: ['abc'], outcome: { kind: 'other_scheme' } },
  { name: 'the scheme alone', headers: ['Bearer'], outcome: { kind: 'malformed' } },
  { name: 'the scheme and a space', headers: ['Bearer '], outcome: { kind: 'malformed' } },
  { name: 'a tab instead of a space', headers: ['Bearer\tabc'], outcome: { kind: 'malformed' } },
  { name: 'two tokens', headers: ['Bearer abc def'], outcome: { kind: 'malformed' } },
  { name: 'two headers folded into one', headers: ['Bearer abc, Bearer def'], outcome: { kind: 'malformed' } },
  { name: 'an equals sign in the middle', headers: ['Bearer a=b'], outcome: { kind: 'malformed' } },
  { name: 'only equals signs', headers: ['Bearer =='], outcome: { kind: 'malformed' } },
  { name: 'quotes', headers: ['Bearer "abc"'], outcome: { kind: 'malformed' } },
  { name: 'a character outside ASCII', headers: ['Bearer abcé'], outcome: { kind: 'malformed' } },
  { name: 'a line break at the end', headers: ['Bearer abc\n'], outcome: { kind: 'malformed' } },
  { name: 'two equal headers', headers: ['Bearer abc', 'Bearer abc'], outcome: { kind: 'doubled' } },
  { name: 'a second header of another scheme', headers: ['Bearer abc', 'Basic YTpi'], outcome: { kind: 'doubled' } }
])('Authorization header: $name (RFC 6750 §2.1)', ({ headers, outcome }) => {
  expect(readBearerCredentials(headers)).toEqual(outcome)
})

test.each([
  { encoded: '', carries: false },
  { encoded: 'page_size=10', carries: false },
  { encoded: 'access_tokens=abc', carries: false },
  { encoded: 'access_token=', carries: false },
  { encoded: 'access_token=abc', carries: true },
  { encoded: 'page_size=10&access_token=abc', carries: true },
  { encoded: 'access%5Ftoken=abc', carries: true },
  { encoded: 'access_token=abc&access_token=def', carries: true },
  { encoded: 'access_token=%ff', carries: true }
])('query or form "$encoded" carries a token: $carries (RFC 6750 §2.2, §2.3)', ({ encoded, carries }) => {
  expect(carriesAccessToken(encoded)).toBe(carries)
})
