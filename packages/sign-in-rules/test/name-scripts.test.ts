import { describe, expect, test } from '@jest/globals'
import { nameScriptProblem } from '../src/name-scripts.js'

describe('names of one script, or of an allowed mixture (UTS #39 §5.2, Highly Restrictive)', () => {
  test.each([
    'Paper Boat',
    'C++',
    '3D',
    'a',
    '42',
    'Müller & Söhne GmbH',
    'Crème Brûlée',
    'Žižkov',
    'Ståle',
    'İstanbul Kart',
    '日本語App',
    '東京メトロ',
    'ラーメンNavi',
    'ひらがな',
    '微信 WeChat',
    '注音ㄓㄨˋ App',
    '한국어 App',
    '漢字한글 mix',
    'Яндекс',
    'Привіт, світе!',
    'Καλημέρα',
    'שלום',
    'עברית 2',
    'العربية',
    'تطبيق ١٢',
    'فارسی ۱۲',
    'हिन्दी १२',
    'বাংলা',
    'தமிழ்',
    'ไทย',
    'ລາວ',
    'ខ្មែរ',
    'မြန်မာ',
    'Հայերեն',
    'ქართული',
    'አማርኛ',
    'བོད་ཡིག',
    'ᏣᎳᎩ',
    'ⵜⴰⵎⴰⵣⵉⵖⵜ',
    'Tiếng Việt',
    'Hawaiʻi',
    '🦊 Fox',
    '🦊',
    'Cafe\u0301',
    'L’App · €5',
    'µTorrent'
  ])('%s is accepted', (name) => {
    expect(nameScriptProblem(name)).toBeUndefined()
  })

  test.each([
    ['Cyrillic among Latin', 'pаypal'],
    ['Greek among Latin', 'Ρaypal'],
    ['Cyrillic and Latin words', 'Почта Mail'],
    ['Greek and Cyrillic', 'αб'],
    ['Lisu and Latin', 'ꓖoogle'],
    ['Cherokee and Latin', 'Ꭺpple'],
    ['Hangul and Kana', '한글ひらがな'],
    ['Arabic and Hebrew', 'العربية עברית'],
    ['Arabic-Indic digits among Latin', 'g٥٥gle'],
    ['Devanagari digits among Latin', 'App १'],
    ['a script that is in no modern use', 'ⲄⲞⲞⲄⲖⲈ']
  ])('%s: %s is refused', (_what, name) => {
    expect(nameScriptProblem(name)).toBe('mixed_scripts')
  })

  test.each([
    ['mathematical and ASCII', '1𝟐'],
    ['two mathematical ones', '𝟏𝟚'],
    ['Arabic-Indic and ASCII', 'تطبيق ١2'],
    ['Arabic-Indic and extended', '١۲'],
    ['full width and ASCII', 'A1２']
  ])('digits of two number systems, %s: %s is refused (UTS #39 §5.3)', (_what, name) => {
    expect(nameScriptProblem(name)).toBe('mixed_numbers')
  })

  test.each(['PayPal ✓', '✔ Checked', 'PayPal ✅', '☑️ Shop', '🗸', '🔒 Bank', '🛡️ Safe'])(
    '%s has a sign that looks like a mark of the service',
    (name) => {
      expect(nameScriptProblem(name)).toBe('badge')
    }
  )
})
