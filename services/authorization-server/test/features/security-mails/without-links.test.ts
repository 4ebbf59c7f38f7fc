import { expect, test } from '@jest/globals'
import { withoutLinks } from '../../../src/features/security-mails/without-links.js'

test.each([
  { given: 'Photo Printer', text: 'Photo Printer' },
  { given: 'Fotos für Ömer, v. 2', text: 'Fotos für Ömer, v. 2' },
  { given: 'تطبيق الصور', text: 'تطبيق الصور' },
  { given: 'https://evil.example/login?a=b', text: 'https evil example login?a=b' },
  { given: 'evil.example', text: 'evil example' },
  { given: 'www.evil.example:8080/x', text: 'www evil example 8080 x' },
  { given: 'help@evil.example', text: 'help evil example' },
  { given: 'mailto:help@evil.example', text: 'mailto help evil example' },
  { given: 'evil．example', text: 'evil example' },
  { given: 'evil。example', text: 'evil example' },
  { given: 'evil｡example', text: 'evil example' },
  { given: 'evil․example', text: 'evil example' },
  { given: 'evil.\u200bexample', text: 'evil example' },
  { given: 'evil\u2060.\u00adexample', text: 'evil example' },
  { given: 'evil...example', text: 'evil example' },
  { given: 'https:\\\\evil.example', text: 'https evil example' },
  { given: 'A\r\nBcc: eve@evil.example', text: 'A Bcc: eve evil example' },
  { given: 'A\u0000\u001b[31m\u0085\u2028\u2029B', text: 'A [31m B' },
  { given: '\u202egnp.elif', text: 'gnp elif' },
  { given: '\u2067A\u2069 B\ud800', text: 'A B' },
  { given: 'A\u00a0\u3000\t B', text: 'A B' },
  { given: ' \u200b ', text: '' },
  { given: '.', text: '.' }
])('$given in a mail is "$text"', ({ given, text }) => {
  expect(withoutLinks(given)).toBe(text)
})

test('a long text ends after 100 characters, and no character is cut', () => {
  expect(withoutLinks('😀'.repeat(200))).toBe('😀'.repeat(100))
})
