import { describe, expect, test } from '@jest/globals'
import { isReservedName, nameKey } from '../../../src/features/developer-apps/name-key.js'

describe('names that look alike have one key (UTS #39 4)', () => {
  test.each([
    ['case', 'PAYPAL', 'paypal'],
    ['capital i and small l', 'PayPaI', 'paypal'],
    ['digits', 'G00gle', 'google'],
    ['Cyrillic letters', 'раураl', 'paypal'],
    ['capital Cyrillic letters', 'РАУРАL', 'paypal'],
    ['Greek letters', 'Ρaypαl', 'paypal'],
    ['capital Greek letters', 'ΖΟΟΜ ΒΑΝΚ ΗΕΥ', 'zoom bank hey'],
    ['capital Cherokee letters', 'ᏢᎪᎩᏢᎪᏞ', 'paypal'],
    ['letters that are not visible', 'pay\u3164pal\uffa0\u115f\u1160', 'paypal'],
    ['accents', 'Pàypál', 'paypal'],
    ['combining marks', 'Pa\u0323ypal', 'paypal'],
    ['full width', 'ｐａｙｐａｌ', 'paypal'],
    ['mathematical letters', '𝐩𝐚𝐲𝐩𝐚𝐥', 'paypal'],
    ['ligatures', 'oﬀice', 'office'],
    ['invisible characters', 'pay\u200dp\u00adal', 'paypal'],
    ['spaces and signs', 'Pay-Pal ™!', 'paypaltm'],
    ['rn for m', 'Arnazon', 'amazon'],
    ['vv for w', 'vvise', 'wise']
  ])('%s', (_what, one, other) => {
    expect(nameKey(one)).toBe(nameKey(other))
  })

  test.each([
    ['Photo Printer', 'Photo Painter'],
    ['Box', 'Dropbox'],
    ['متجر', 'مدرسة'],
    ['🦊', '🐻']
  ])('%s and %s do not', (one, other) => {
    expect(nameKey(one)).not.toBe(nameKey(other))
  })

  test('every name has a key', () => {
    for (const name of ['🦊', '---', '日本', 'a']) expect(nameKey(name)).not.toBe('')
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
    'ADMlN'
  ])('%s', (name) => {
    expect(isReservedName(name, 'Valetkey')).toBe(true)
  })

  test.each([
    ['Paper Boat', 'Valetkey'],
    ['Support for Boats', 'Valetkey'],
    ['Dropbox', 'Box'],
    ['متجر', 'Valetkey']
  ])('%s is free beside %s', (name, productName) => {
    expect(isReservedName(name, productName)).toBe(false)
  })

  test.each(['Box Sync', 'Bo\u200bx Sync', 'B\u00adox\u3164Sync'])(
    'a short product name is reserved as a word: %j',
    (name) => {
      expect(isReservedName(name, 'Box')).toBe(true)
    }
  )
})
