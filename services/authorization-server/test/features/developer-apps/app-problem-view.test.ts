import { describe, expect, test } from '@jest/globals'
import { problemView } from '../../../src/features/developer-apps/app-problem-view.js'
import { readRedirectUris } from '../../../src/platform/clients/read-redirect-uris.js'
import { loadLanguages } from '../../../src/platform/i18n/language.js'

const REFUSED = [
  { uri: 'https://app.example/a b', text: 'ASCII' },
  { uri: 'https://bücher.example/cb', text: 'https://xn--bcher-kva.example/cb' },
  { uri: 'https://app.example/"', text: 'quotes' },
  { uri: 'https://*.example/', text: 'Wildcards' },
  { uri: 'https://app.example/#x', text: 'fragment' },
  { uri: '/callback', text: 'complete URI' },
  { uri: 'https://app.example/?state=1', text: 'Remove state' },
  { uri: 'https://user@app.example/', text: 'user name' },
  { uri: 'com.example.App:/cb', text: 'lower case' },
  { uri: 'http://app.example/', text: 'Use https' },
  { uri: 'https://app.example:443/cb', text: 'https://app.example/cb' },
  { uri: 'https://app.example,evil.example/', text: 'host' }
]

function problemOf(uri: string) {
  const outcome = readRedirectUris([uri])
  if (outcome.kind !== 'malformed') throw new Error(`${uri} is accepted`)
  const { problem, detail } = outcome
  return problemView({ field: 'redirectUris', problem, uri, detail })
}

describe('a redirect URI that cannot be registered', () => {
  test.each(REFUSED)('$uri: the text names it and the reason', ({ uri, text }) => {
    const { id, message } = problemOf(uri)
    expect(id).toBe('redirect_uris')
    const [english, ...others] = [...loadLanguages().values()]
      .toSorted((a) => (a.tag === 'en' ? -1 : 1))
      .map((language) => language.toText(message))
    expect(english).toContain(text)
    for (const shown of [english, ...others]) expect(shown).toContain(uri)
    expect(new Set([english, ...others]).size).toBe(loadLanguages().size)
  })

  test('one of more than 2,000 characters is not repeated', () => {
    const uri = `https://app.example/${'a'.repeat(2_000)}`
    const shown = loadLanguages().get('en')?.toText(problemOf(uri).message)
    expect(shown).toBe('A redirect URI may have at most 2,000 characters.')
  })
})
