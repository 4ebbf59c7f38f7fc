import { expect, test } from '@jest/globals'
import { readCompactJws } from '../../src/signed/compact-jws.js'

const encode = (text: string | Buffer) => Buffer.from(text).toString('base64url')
const HEADER = encode('{"alg":"ES256"}')
const PAYLOAD = encode('{"jti":"one"}')

test('A JWS with two objects and a signature is read', () => {
  const text = `${HEADER}.${PAYLOAD}.AAAA`
  expect(readCompactJws(text)).toEqual({ text, header: { alg: 'ES256' }, payload: { jti: 'one' } })
})

test('A JWS of 4,096 characters is read, a longer one is not', () => {
  const rest = `${HEADER}.${PAYLOAD}.`
  // A base64url text of 4n, 4n+2 or 4n+3 characters exists.
  const padding = 'A'.repeat(4_096 - rest.length)
  expect((padding.length % 4) - 1).not.toBe(0)
  expect(readCompactJws(rest + padding)).toBeDefined()
  expect(readCompactJws(`${rest}${padding}AAAA`)).toBeUndefined()
})

test.each([
  { name: 'no text', text: '' },
  { name: 'two parts', text: `${HEADER}.${PAYLOAD}` },
  { name: 'four parts', text: `${HEADER}.${PAYLOAD}.AAAA.AAAA` },
  { name: 'an empty header', text: `.${PAYLOAD}.AAAA` },
  { name: 'an empty payload', text: `${HEADER}..AAAA` },
  { name: 'an empty signature', text: `${HEADER}.${PAYLOAD}.` },
  { name: 'padding', text: `${HEADER}.${PAYLOAD}.AA==` },
  { name: 'a signature with other unused bits', text: `${HEADER}.${PAYLOAD}.AB` },
  { name: 'characters of base64', text: `${HEADER}.${PAYLOAD}.+/AA` },
  { name: 'a space', text: `${HEADER}.${PAYLOAD}.AAAA ` },
  { name: 'a header that is an array', text: `${encode('[]')}.${PAYLOAD}.AAAA` },
  { name: 'a payload that is null', text: `${HEADER}.${encode('null')}.AAAA` },
  { name: 'a payload that is text', text: `${HEADER}.${encode('"a"')}.AAAA` },
  { name: 'a payload that is no JSON', text: `${HEADER}.${encode('{')}.AAAA` },
  { name: 'a payload that is not UTF-8', text: `${HEADER}.${encode(Buffer.from('{"a":"\xff"}', 'latin1'))}.AAAA` },
  { name: 'a payload with a byte order mark', text: `${HEADER}.${encode('\ufeff{}')}.AAAA` }
])('A text with $name is no JWS', ({ text }) => {
  expect(readCompactJws(text)).toBeUndefined()
})
