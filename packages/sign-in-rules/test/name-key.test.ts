import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isReservedName, nameKeys } from '../src/name-key.js'
import { lookAlikeTable } from '../src/skeleton.js'

const lookAlike = (one: string, other: string) => {
  const keys = nameKeys(other)
  return nameKeys(one).some((key) => keys.includes(key))
}

describe('names that look alike have a key in common (UTS #39 §4)', () => {
  test.each([
    ['case', 'PAYPAL', 'paypal'],
    ['case of Cyrillic letters', 'СБЕРБАНК', 'Сбербанк'],
    ['case of Greek letters', 'ΝΕΟΣ ΔΡΟΜΟΣ', 'νεος δρομος'],
    ['sharp s', 'STRASSE', 'Straße'],
    ['capital i and small l', 'PayPaI', 'paypal'],
    ['digits', 'G00gle', 'google'],
    ['full width digits', 'g００gle', 'google'],
    ['digits in circles', 'Top ①⓪', 'top 10'],
    ['mathematical digits', 'g𝟎𝟘gle', 'google'],
    ['Arabic-Indic digits', 'g٥٥gle', 'google'],
    ['Devanagari digits', 'g००gle', 'google'],
    ['segmented digits', 'g🯰🯰gle', 'google'],
    ['Cyrillic letters', 'раураl', 'paypal'],
    ['Cyrillic letters only', 'асе', 'ace'],
    ['small Cyrillic letters that look like small capitals', 'кот', 'kot'],
    ['capital Cyrillic letters', 'РАУРАL', 'paypal'],
    ['Greek letters', 'Ρaypαl', 'paypal'],
    ['capital Greek letters', 'ΖΟΟΜ ΒΑΝΚ ΗΕΥ', 'zoom bank hey'],
    ['capital Cherokee letters', 'ᏢᎪᎩᏢᎪᏞ', 'paypal'],
    ['Lisu letters', 'ꓖꓳꓳꓖꓡꓰ', 'google'],
    ['Coptic letters', 'ⲄⲞⲞⲄⲖⲈ ⲞⲤ', 'ⲅⲟⲟⲅⲗⲉ oc'],
    ['small Coptic letters', 'ⲟⲥⲣ', 'ocp'],
    ['letters that are not visible', 'pay\u3164pal\uffa0\u115f\u1160', 'paypal'],
    ['accents', 'Pàypál', 'paypal'],
    ['combining marks', 'Pa\u0323ypal', 'paypal'],
    ['full width', 'ｐａｙｐａｌ', 'paypal'],
    ['mathematical letters', '𝐩𝐚𝐲𝐩𝐚𝐥', 'paypal'],
    ['letters in circles', 'ⓅⓐⓨⓅⓐⓛ', 'paypal'],
    ['white letters in black squares and circles', '🅿🅰🆈🅟🅐🅛', 'paypal'],
    ['superscript letters', 'ᵖᵃʸᵖᵃˡ', 'paypal'],
    ['letters that are crossed out', 'p\u0336a\u0336y\u0336pal', 'paypal'],
    ['ligatures', 'oﬀice', 'office'],
    ['invisible characters', 'pay\u200dp\u00adal', 'paypal'],
    ['spaces and signs', 'Pay-Pal ™!', 'paypal'],
    ['emoji', '🦊 Paypal ®', 'paypal'],
    ['rn for m', 'Arnazon', 'amazon'],
    ['vv for w', 'vvise', 'wise'],
    ['a capital letter that an added word begins with', 'bIN', 'blN'],
    ['a mathematical capital letter at the same place', 'ꞓ𝐈N', 'ꞓlN']
  ])('%s', (_what, one, other) => {
    expect(lookAlike(one, other)).toBe(true)
  })

  test.each([
    'PayPal Official',
    'The Official PayPal App',
    '✓ PayPal',
    'PayPal ✓ Checked',
    'PayPal ☑ verified',
    'PayPal® Inc.',
    'PayPal, GmbH',
    'www.paypal.com',
    'PayPalOfficial',
    'officialpaypal',
    'PayPalApp',
    'Paypal Suppоrt',
    'Offizielle PayPal-App',
    'PayPal 0fficìal',
    'ОFFICIAL PAYPAL'
  ])('%s and PayPal, with words that are added', (name) => {
    expect(lookAlike(name, 'PayPal')).toBe(true)
  })

  test('every character of confusables.txt and the text that it looks like', () => {
    const entries = [...lookAlikeTable()]
    expect(entries.length).toBeGreaterThan(6_500)
    expect(entries.filter(([source, target]) => !lookAlike(source, target))).toEqual([])
  })

  test('every name of letters, and the name with look-alikes in their places', () => {
    const pairs = [...lookAlikeTable()].filter(([source, target]) => /^\p{L}$/u.test(source) && /^\p{L}$/u.test(target))
    const replaced = fc.array(fc.tuple(fc.constantFrom(...pairs), fc.boolean()), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(replaced, (letters) => {
        const name = letters.map(([[source, target], isReplaced]) => (isReplaced ? source : target)).join('')
        expect(lookAlike(name, letters.map(([[, target]]) => target).join(''))).toBe(true)
      })
    )
  })

  test.each([
    ['Photo Printer', 'Photo Painter'],
    ['Box', 'Dropbox'],
    ['Snapp', 'Snack'],
    ['The App', 'Official App'],
    ['متجر', 'مدرسة'],
    ['कमल', 'कोमल'],
    ['ปลา', 'ปลี'],
    ['한국', '한글'],
    ['🦊', '🐻']
  ])('%s and %s do not', (one, other) => {
    expect(lookAlike(one, other)).toBe(false)
  })

  test('every name has a key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), (name) => {
        expect(nameKeys(name).length).toBeGreaterThan(0)
      })
    )
  })
})

describe('reserved names', () => {
  test.each([
    'Valetkey',
    'VaIetkey',
    'Valetkey Support',
    'MyValetkeyApp',
    'V a l e t k e y',
    'Official Support',
    '✓ Checked',
    'Offiziell geprüft',
    'ADMlN',
    'SignIn',
    'Signln'
  ])('%s', (name) => {
    expect(isReservedName(name, 'Valetkey')).toBe(true)
  })

  test.each([
    ['Paper Boat', 'Valetkey'],
    ['Support for Boats', 'Valetkey'],
    ['Dropbox', 'Box'],
    ['Singing', 'Box'],
    ['متجر', 'Valetkey']
  ])('%s is free beside %s', (name, productName) => {
    expect(isReservedName(name, productName)).toBe(false)
  })

  test.each(['Box Sync', 'MyBoxSync', 'Bo\u200bx Sync', 'B\u00adox\u3164Sync'])(
    'a short product name is reserved as a word: %j',
    (name) => {
      expect(isReservedName(name, 'Box')).toBe(true)
    }
  )
})
