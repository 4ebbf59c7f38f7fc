import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { shownRedirectUri, withoutControls } from '../../../src/features/refused-requests/shown-text.js'

test.each([
  { name: 'a registered form', sent: 'https://app.example/callback', shown: 'https://app.example/callback' },
  {
    name: 'values of the query',
    sent: 'https://app.example/cb?code=vk_ac_secret&state&a=b=c',
    shown: 'https://app.example/cb?code=…&…&a=…'
  },
  { name: 'an empty query', sent: 'https://app.example/cb?', shown: 'https://app.example/cb?' },
  { name: 'a fragment', sent: 'https://app.example/cb#access_token=x', shown: 'https://app.example/cb#…' },
  { name: 'a fragment with a query', sent: 'https://a.example/#?b=c', shown: 'https://a.example/#…' },
  { name: 'a password', sent: 'https://alice:secret@app.example/', shown: 'https://…@app.example/' },
  {
    name: 'a password after backslashes',
    sent: 'https:\\\\alice:secret@app.example',
    shown: 'https:\\\\…@app.example'
  },
  {
    name: 'HTML',
    sent: 'https://a.example/<script>alert(1)</script>',
    shown: 'https://a.example/<script>alert(1)</script>'
  },
  { name: 'control characters', sent: 'https://a.example\u0000/\r\n\u001b[31mx', shown: 'https://a.example/[31mx' },
  {
    name: 'characters that reverse the text',
    sent: 'https://\u202ea.example\u2066/\u2028',
    shown: 'https://a.example/'
  },
  { name: 'nothing', sent: '', shown: '' }
])('the shown redirect URI has no secrets and no control characters: $name', ({ sent, shown }) => {
  expect(shownRedirectUri(sent)).toBe(shown)
})

test('the shown redirect URI has at most 500 characters', () => {
  expect([...shownRedirectUri(`https://app.example/${'a'.repeat(8_000)}`)]).toHaveLength(500)
  expect(shownRedirectUri(`https://app.example/${'a'.repeat(480)}`)).toMatch(/a$/)
})

test('any text becomes text that Postgres stores, without line breaks and values', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (sent) => {
      const shown = shownRedirectUri(`${sent}?name=a-secret-value`)
      expect([...shown].length).toBeLessThanOrEqual(500)
      expect(shown).toBe(withoutControls(shown))
      expect(shown).not.toContain('a-secret-value')
    })
  )
})
