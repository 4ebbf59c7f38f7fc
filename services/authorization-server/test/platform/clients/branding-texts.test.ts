import { describe, expect, test } from '@jest/globals'
import { readBrandingText } from '../../../src/platform/clients/branding-texts.js'

const MOST = `https://app.example/${'a'.repeat(1_980)}`

describe('an address', () => {
  test.each([
    { given: 'https://app.example', value: 'https://app.example/' },
    { given: ' https://app.example/privacy?lang=en#data ', value: 'https://app.example/privacy?lang=en#data' },
    { given: 'HTTPS://APP.example:443/A', value: 'https://app.example/A' },
    { given: 'http://localhost:3000/', value: 'http://localhost:3000/' },
    { given: 'http://127.0.0.1/', value: 'http://127.0.0.1/' },
    { given: 'http://127.0.0.2/', value: 'http://127.0.0.2/' },
    { given: 'http://app.localhost/', value: 'http://app.localhost/' },
    { given: 'http://[::1]:8080/', value: 'http://[::1]:8080/' },
    { given: 'https://аррӏе.example/', value: 'https://xn--80ak6aa92e.example/' },
    { given: 'https://app.example/ü', value: 'https://app.example/%C3%BC' },
    { given: MOST, value: MOST },
    { given: '', value: undefined },
    { given: ' ', value: undefined }
  ])('$given is stored as $value', ({ given, value }) => {
    expect(readBrandingText('homePage', given)).toEqual({ kind: 'text', value })
  })

  test.each([
    { given: 'http://app.example/', kind: 'not_https' },
    { given: 'http://127.0.0.1.evil.example/', kind: 'not_https' },
    { given: 'http://localhost.evil.example/', kind: 'not_https' },
    { given: 'javascript:alert(1)', kind: 'not_https' },
    { given: 'data:text/html,x', kind: 'not_https' },
    { given: 'ftp://app.example/', kind: 'not_https' },
    { given: 'https://bank.example@evil.example/', kind: 'credentials' },
    { given: 'https://:x@evil.example/', kind: 'credentials' },
    { given: 'app.example', kind: 'malformed' },
    { given: '//app.example/', kind: 'malformed' },
    { given: 'https://', kind: 'malformed' },
    { given: 'java\nscript:alert(1)', kind: 'malformed' },
    { given: 'https://app.example/a b', kind: 'malformed' },
    { given: 'https:\\\\app.example/', kind: 'malformed' },
    { given: 'https://app.example/\u202egnp', kind: 'malformed' },
    { given: 'https://app.example/\u0000', kind: 'malformed' },
    { given: `${MOST}a`, kind: 'too_long' },
    { given: `https://app.example/${'ü'.repeat(1_000)}`, kind: 'too_long' }
  ])('$given is $kind', ({ given, kind }) => {
    expect(readBrandingText('terms', given)).toEqual({ kind })
  })
})

describe('a publisher', () => {
  test.each([
    { given: ' Example “Prints” GmbH ', value: 'Example “Prints” GmbH' },
    { given: 'شركة المثال', value: 'شركة المثال' },
    { given: 'p'.repeat(80), value: 'p'.repeat(80) },
    { given: '', value: undefined }
  ])('$given is stored as $value', ({ given, value }) => {
    expect(readBrandingText('publisher', given)).toEqual({ kind: 'text', value })
  })

  test.each([
    { given: 'p'.repeat(81), kind: 'malformed' },
    { given: 'Example\nchecked by Valetkey', kind: 'malformed' },
    { given: '\u200b', kind: 'malformed' },
    { given: 'Example \u202e', kind: 'text_direction' },
    { given: 'Example \u2067', kind: 'text_direction' }
  ])('$given is $kind', ({ given, kind }) => {
    expect(readBrandingText('publisher', given)).toEqual({ kind })
  })
})
