import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { canonicalName, problemOfUserName } from '../src/canonical-name.js'

const text = fc.string({ unit: 'binary', maxLength: 40 })

describe('canonical user name (RFC 8265 §3.3, Unicode §3.13 D146)', () => {
  test.each([
    { name: 'upper case', given: 'Nora.Berg@Example.org', form: 'nora.berg@example.org' },
    { name: 'the canonical form itself', given: 'nora.berg@example.org', form: 'nora.berg@example.org' },
    { name: 'full width', given: 'Ｎｏｒａ＠ｅｘａｍｐｌｅ', form: 'nora@example' },
    { name: 'half-width katakana', given: 'ﾔﾏﾀﾞ', form: 'ヤマダ' },
    { name: 'ligatures', given: 'ﬁnn', form: 'finn' },
    { name: 'mathematical letters', given: '𝐍ora', form: 'nora' },
    { name: 'decomposed marks', given: 'Zoe\u0308', form: 'zoë' },
    { name: 'sharp s', given: 'Straße', form: 'strasse' },
    { name: 'capital sharp s', given: 'STRAẞE', form: 'strasse' },
    { name: 'final sigma', given: 'ΝΊΚΟΣ νίκος', form: 'νίκοσ νίκοσ' },
    { name: 'capital i with dot', given: 'İpek', form: 'i\u0307pek' },
    { name: 'dotless i', given: 'Yıldız', form: 'yıldız' },
    { name: 'the Kelvin sign', given: '\u212aim', form: 'kim' },
    { name: 'iota subscript', given: 'ᾳ', form: 'αι' },
    { name: 'titlecase letters', given: 'ǅ', form: 'dž' },
    { name: 'Cherokee', given: 'ᏣᎳᎩ', form: 'ꮳꮃꭹ' },
    { name: 'Georgian capitals', given: 'ᲜᲝᲠᲐ', form: 'ნორა' },
    { name: 'Arabic presentation forms', given: '\ufefb', form: 'لا' },
    { name: 'spaces around and between', given: ' Nora \u00a0\u3000 Berg\t', form: 'nora berg' },
    { name: 'characters that are not shown', given: 'no\u200bra\u00ad\ufe0f', form: 'nora' },
    { name: 'a joiner', given: 'می\u200cخواهم', form: 'میخواهم' },
    { name: 'nothing', given: '', form: '' }
  ])('of $name', ({ given, form }) => {
    expect(canonicalName(given)).toBe(form.normalize('NFC'))
  })

  test.each([
    { name: 'another letter', one: 'nora', other: 'norá' },
    { name: 'another script', one: 'alice', other: 'аlice' },
    { name: 'dotless i', one: 'kiz', other: 'kız' },
    { name: 'another sign', one: 'nora.berg', other: 'noraberg' },
    { name: 'a space', one: 'nora berg', other: 'noraberg' }
  ])('differs with $name', ({ one, other }) => {
    expect(canonicalName(one)).not.toBe(canonicalName(other))
  })

  test('of a canonical form is that form, of any text', () => {
    fc.assert(fc.property(text, (given) => expect(canonicalName(canonicalName(given))).toBe(canonicalName(given))))
  })

  test('is the same for all forms of normalization and for the lower case of any text', () => {
    const forms = ['NFC', 'NFD', 'NFKC', 'NFKD'] as const
    const ofAll = (given: string) => [given.toLowerCase(), ...forms.map((form) => given.normalize(form))]
    fc.assert(fc.property(text, (given) => expect(new Set([given, ...ofAll(given)].map(canonicalName)).size).toBe(1)))
  })

  test('is the same for two characters that are equal without case, of all characters', () => {
    const different: string[] = []
    for (let point = 0; point <= 0x10ffff; point += 1) {
      const one = String.fromCodePoint(point)
      for (const other of new Set([one.toLowerCase(), one.toUpperCase()])) {
        if (other === one) continue
        const isEqual = new RegExp(`^\\u{${point.toString(16)}}$`, 'iu').test(other)
        if (isEqual && canonicalName(one) !== canonicalName(other)) different.push(point.toString(16))
      }
    }
    expect(different).toEqual([])
  })
})

describe('problem of a new user name', () => {
  test('is a canonical form that no index can store', () => {
    expect(problemOfUserName('ﷺ'.repeat(17))).toEqual({ kind: 'too_long' })
    expect(problemOfUserName('ﬃ'.repeat(100))).toBeUndefined()
  })

  test.each([
    { name: 'a word', given: 'nora' },
    { name: 'an address', given: 'Nora.Berg+x@Example.org' },
    { name: 'two words', given: 'Nora O’Brien' },
    { name: 'a joiner in a word', given: 'می\u200cخواهم' },
    { name: 'Arabic with an address', given: 'علي@example.org' },
    { name: 'Thai', given: 'สมชาย' },
    { name: 'a sign', given: 'nora ★' }
  ])('is none with $name', ({ given }) => {
    expect(problemOfUserName(given)).toBeUndefined()
  })

  test.each([
    { name: 'a control character', given: 'no\u0007ra', kind: 'not_shown', character: 'U+0007' },
    { name: 'a zero-width space', given: 'no\u200bra', kind: 'not_shown', character: 'U+200B' },
    { name: 'a soft hyphen', given: 'no\u00adra', kind: 'not_shown', character: 'U+00AD' },
    { name: 'a Hangul filler', given: 'nora\u3164', kind: 'not_shown', character: 'U+3164' },
    { name: 'a change of direction', given: 'no\u202era', kind: 'not_shown', character: 'U+202E' },
    { name: 'a tag character', given: 'nora\u{e0041}', kind: 'not_shown', character: 'U+E0041' },
    { name: 'a joiner at the end', given: 'nora\u200d', kind: 'not_shown', character: 'U+200D' },
    { name: 'a line separator', given: 'no\u2028ra', kind: 'not_shown', character: 'U+2028' },
    { name: 'an unassigned character', given: 'nora\u0378', kind: 'unassigned', character: 'U+0378' },
    { name: 'a character of private use', given: 'nora\ue000', kind: 'unassigned', character: 'U+E000' },
    { name: 'half a character', given: 'nora\ud800', kind: 'unassigned', character: 'U+D800' }
  ])('is named with $name (RFC 8264 §9)', ({ given, kind, character }) => {
    expect(problemOfUserName(given)).toEqual({ kind, character })
  })
})
