import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { parseParameters, withoutParameters } from '../src/parameters.js'

type Reading = { value?: string; repeated?: boolean; malformed?: boolean }

function read(encoded: string, name: string): Reading {
  const parameters = parseParameters(encoded)
  const value = parameters.get(name)
  return {
    ...(value !== undefined && { value }),
    ...(parameters.isRepeated(name) && { repeated: true }),
    ...(parameters.isMalformed(name) && { malformed: true })
  }
}

const ABSENT: Reading = {}

describe('reading one parameter', () => {
  test.each<{ name: string; encoded: string; reading: Reading }>([
    { name: 'an empty query', encoded: '', reading: ABSENT },
    { name: 'another parameter only', encoded: 'state=a', reading: ABSENT },
    { name: 'a value', encoded: 'scope=a', reading: { value: 'a' } },
    { name: 'a value among others', encoded: 'x=1&scope=a&y=2', reading: { value: 'a' } },
    { name: 'stray separators around it', encoded: '&&scope=a&', reading: { value: 'a' } },
    { name: 'an empty value', encoded: 'scope=', reading: ABSENT },
    { name: 'a name without equals sign', encoded: 'scope', reading: ABSENT },
    { name: 'a value with an empty one', encoded: 'scope=&scope=a&scope', reading: { value: 'a' } },
    { name: 'equals signs in the value', encoded: 'scope=a=b==', reading: { value: 'a=b==' } },
    { name: 'a plus sign', encoded: 'scope=a+b', reading: { value: 'a b' } },
    { name: 'several plus signs', encoded: 'scope=a+b+c', reading: { value: 'a b c' } },
    { name: 'an encoded plus sign', encoded: 'scope=a%2Bb', reading: { value: 'a+b' } },
    { name: 'an encoded space', encoded: 'scope=a%20b', reading: { value: 'a b' } },
    { name: 'an encoded separator', encoded: 'scope=a%26state%3Db', reading: { value: 'a&state=b' } },
    { name: 'a value encoded twice, decoded once', encoded: 'scope=%2561', reading: { value: '%61' } },
    { name: 'percent-encoding in lower case', encoded: 'scope=%c3%a9', reading: { value: 'é' } },
    { name: 'four bytes of UTF-8', encoded: 'scope=%F0%9F%94%91', reading: { value: '🔑' } },
    { name: 'a semicolon, which separates nothing', encoded: 'x=1;scope=a', reading: ABSENT },
    { name: 'a leading question mark, part of the name', encoded: '?scope=a', reading: ABSENT },
    { name: 'an encoded name', encoded: 'sc%6Fpe=a', reading: { value: 'a' } },
    { name: 'a name in other case', encoded: 'Scope=a', reading: ABSENT },
    { name: 'a name with a space at its end', encoded: 'scope+=a', reading: ABSENT },
    { name: 'a name with an encoded space at its end', encoded: 'scope%20=a', reading: ABSENT },
    { name: 'a name after a space', encoded: ' scope=a', reading: ABSENT },
    { name: 'its own name in brackets', encoded: 'scope[scope]=a', reading: ABSENT },
    { name: 'two values', encoded: 'scope=a&scope=b', reading: { repeated: true } },
    { name: 'the same value twice', encoded: 'scope=a&scope=a', reading: { repeated: true } },
    { name: 'three values', encoded: 'scope=a&scope=b&scope=c', reading: { repeated: true } },
    { name: 'a second value under the encoded name', encoded: 'scope=a&%73cope=b', reading: { repeated: true } },
    { name: 'values far apart', encoded: 'scope=a&x=1&scope=b', reading: { repeated: true } },
    { name: 'empty brackets', encoded: 'scope[]=a', reading: ABSENT },
    { name: 'encoded brackets', encoded: 'scope%5B%5D=a', reading: ABSENT },
    { name: 'an index in brackets', encoded: 'scope[0]=a&scope[1]=b', reading: ABSENT },
    { name: 'brackets with the plain name', encoded: 'scope=a&scope[]=b', reading: { value: 'a' } },
    { name: 'a dotted name', encoded: 'scope.x=a', reading: ABSENT }
  ])('parameters: $name is read as $reading (RFC 6749 §3.1)', ({ encoded, reading }) => {
    expect(read(encoded, 'scope')).toEqual(reading)
  })

  test.each([
    { encoded: 'keys=a%0D%0Ab%0Ac%09d', text: 'a\nb\nc\td' },
    { encoded: 'keys=a%C3%A9', text: 'aé' },
    { encoded: 'keys=', text: undefined },
    { encoded: 'keys=a%0Ab&keys=c', text: undefined },
    { encoded: 'keys=a%00%0Ab', text: undefined },
    { encoded: 'keys=a%0Db', text: undefined },
    { encoded: 'keys=%ff%0A', text: undefined }
  ])('text with several lines: $encoded is read as $text', ({ encoded, text }) => {
    expect(parseParameters(encoded).getText('keys')).toBe(text)
  })

  test.each([
    { name: 'a lone percent sign', value: '%' },
    { name: 'a percent sign before other characters', value: '%zz' },
    { name: 'half a percent-encoding', value: 'a%4' },
    { name: 'a byte that never occurs in UTF-8', value: '%ff' },
    { name: 'a continuation byte alone', value: '%80' },
    { name: 'a sequence cut short', value: '%C3' },
    { name: 'an overlong slash', value: '%C0%AF' },
    { name: 'an overlong NUL', value: '%C0%80' },
    { name: 'a surrogate half', value: '%ED%A0%80' },
    { name: 'a code point beyond Unicode', value: '%F4%90%80%80' },
    { name: 'latin-1', value: 'caf%E9' },
    { name: 'an encoded NUL', value: 'a%00b' },
    { name: 'a raw NUL', value: 'a\u0000b' },
    { name: 'an encoded line feed', value: 'a%0Ab' },
    { name: 'an encoded carriage return and line feed', value: '%0d%0aSet-Cookie:x' },
    { name: 'an encoded tab', value: 'a%09b' },
    { name: 'the last of the C0 controls', value: '%1F' },
    { name: 'DEL', value: '%7F' },
    { name: 'a C1 control', value: '%C2%85' },
    { name: 'an ill-formed value that would be empty otherwise', value: '%00' }
  ])('parameters: $name makes the parameter malformed and undefined (RFC 6749 App. A, B)', ({ value }) => {
    expect(read(`x=1&scope=${value}&y=2`, 'scope')).toEqual({ malformed: true })
  })

  test.each([
    { name: 'a malformed value first', encoded: 'scope=%ff&scope=a' },
    { name: 'a malformed value last', encoded: 'scope=a&scope=%ff' }
  ])('parameters: $name of two values makes the parameter malformed and repeated', ({ encoded }) => {
    expect(read(encoded, 'scope')).toEqual({ repeated: true, malformed: true })
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'parameters: the name %s is a name like any other',
    (name) => {
      expect(read('', name)).toEqual(ABSENT)
      expect(read(`${name}=a`, name)).toEqual({ value: 'a' })
    }
  )

  test('parameters: a malformed parameter does not affect others', () => {
    expect(read('state=%ff&scope=a&%ff=b', 'scope')).toEqual({ value: 'a' })
  })
})

describe('generated input', () => {
  const plainText = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/\p{Cc}/u.test(text))

  test('parameters: the output of URLSearchParams is decoded, with empty values as absent', () => {
    const entries = fc.uniqueArray(fc.tuple(plainText, plainText), { selector: ([name]) => name, maxLength: 8 })
    fc.assert(
      fc.property(entries, (pairs) => {
        const parameters = parseParameters(new URLSearchParams(pairs).toString())
        for (const [name, value] of pairs) {
          expect(parameters.get(name)).toBe(value === '' ? undefined : value)
          expect(parameters.isRepeated(name) || parameters.isMalformed(name)).toBe(false)
        }
      })
    )
  })

  test('parameters: a name with two values has no value', () => {
    const nonEmpty = plainText.filter((text) => text !== '')
    fc.assert(
      fc.property(plainText, nonEmpty, nonEmpty, (name, first, second) => {
        const encoded = new URLSearchParams([
          [name, first],
          [name, second]
        ]).toString()
        expect(read(encoded, name)).toEqual({ repeated: true })
      })
    )
  })

  test('parameters: no input throws, and no value is empty or contains a control character', () => {
    const pieces = fc.constantFrom('a', '=', '&', '%', '+', '%00', '%ff', '%C3', '%A9', '%41', '[]', '\u0000', 'é', ';')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        for (const name of ['', 'a', 'aa', 'A', 'é']) {
          const { value, repeated, malformed } = read(parts.join(''), name)
          if (value === undefined) continue
          expect(value).not.toMatch(/^$|\p{Cc}/u)
          expect(repeated ?? malformed).toBeUndefined()
        }
      })
    )
  })
})

test.each([
  { encoded: '', rest: '' },
  { encoded: 'resume=1', rest: '' },
  { encoded: 'resume', rest: '' },
  { encoded: 'resume=', rest: '' },
  { encoded: 'a=1&resume=2', rest: 'a=1' },
  { encoded: 'resume=2&a=1', rest: 'a=1' },
  { encoded: 'a=1&resume=2&b=3&resume=4', rest: 'a=1&b=3' },
  { encoded: 'a=%7e+~&resume=2', rest: 'a=%7e+~' },
  { encoded: 'resumed=1&xresume=2&Resume=3', rest: 'resumed=1&xresume=2&Resume=3' },
  { encoded: 'a=resume&b=resume=2', rest: 'a=resume&b=resume=2' },
  { encoded: 're%73ume=2&a=1&%72esume', rest: 'a=1' },
  { encoded: 'resume%ff=1&resume+=2&a=%ff', rest: 'resume%ff=1&resume+=2&a=%ff' }
])('taking a parameter out: "$encoded" without resume is "$rest", byte for byte', ({ encoded, rest }) => {
  expect(withoutParameters(encoded, ['resume', 'again'])).toBe(rest)
})
