import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { loadLanguages } from '../../src/choose/language.js'

const MESSAGES = path.resolve(import.meta.dirname, '../../messages')
const read = (name: string) => JSON.parse(readFileSync(path.join(MESSAGES, name), 'utf8')) as Record<string, string>
const english = read('en.json')
const languageFor = loadLanguages()

const placeholders = (text = '') => [...new Set(text.match(/<\/?b>|\{\w+/g) ?? [])].toSorted()

test.each(readdirSync(MESSAGES))('%s has every key of English, with its placeholders', (name) => {
  const messages = read(name)
  expect(Object.keys(messages).toSorted()).toEqual(Object.keys(english).toSorted())
  for (const [key, text] of Object.entries(messages)) expect(placeholders(text)).toEqual(placeholders(english[key]))
  const language = languageFor(path.basename(name, '.json'))
  for (const key of Object.keys(messages)) {
    if (key !== 'direction')
      expect(language.toText(key, { client: 'a', count: 3, title: 'b', product: 'c' })).not.toBe('')
  }
})

test.each([
  { size: 0n, text: '0 bytes' },
  { size: 1n, text: '1 byte' },
  { size: 999n, text: '999 bytes' },
  { size: 48_213n, text: '48.2 kB' },
  { size: 1_000_000n, text: '1 MB' },
  { size: 2n ** 62n, text: '4,610,000 TB' }
])('a size of $size bytes: $text', ({ size, text }) => {
  expect(languageFor('en').bytes(size)).toBe(text)
})

test.each([
  { seconds: -5, text: '1 minute ago' },
  { seconds: 59, text: '1 minute ago' },
  { seconds: 7_200, text: '2 hours ago' },
  { seconds: 86_400 * 29, text: '29 days ago' },
  { seconds: 86_400 * 61, text: '2 months ago' },
  { seconds: 86_400 * 800, text: '2 years ago' }
])('an age of $seconds seconds: $text', ({ seconds, text }) => {
  expect(languageFor('en').ago(seconds * 1_000)).toBe(text)
})

test.each([
  { tag: 'de-AT', chosen: 'de' },
  { tag: 'AR', chosen: 'ar' },
  { tag: 'fr', chosen: 'en' },
  { tag: '', chosen: 'en' }
])('the language for "$tag": $chosen', ({ tag, chosen }) => {
  expect(languageFor(tag).tag).toBe(chosen)
})
