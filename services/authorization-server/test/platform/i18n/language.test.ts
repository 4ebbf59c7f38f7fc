import { expect, test } from '@jest/globals'
import { chooseLanguage } from '../../../src/platform/i18n/choose-language.js'
import { createLanguage, loadLanguages } from '../../../src/platform/i18n/language.js'

const AVAILABLE = ['en', 'ar', 'de']

test.each([
  { name: 'nothing asked', uiLocales: undefined, acceptLanguage: undefined, chosen: 'en' },
  { name: 'one language', uiLocales: undefined, acceptLanguage: 'de', chosen: 'de' },
  { name: 'a region', uiLocales: undefined, acceptLanguage: 'de-AT', chosen: 'de' },
  { name: 'weights', uiLocales: undefined, acceptLanguage: 'en;q=0.3, ar;q=0.9', chosen: 'ar' },
  { name: 'the first known of many', uiLocales: undefined, acceptLanguage: 'fr, it, de;q=0.2', chosen: 'de' },
  { name: 'none known', uiLocales: undefined, acceptLanguage: 'fr', chosen: 'en' },
  { name: 'any', uiLocales: undefined, acceptLanguage: '*', chosen: 'en' },
  { name: 'a refused one', uiLocales: undefined, acceptLanguage: 'en;q=0, de;q=0.1', chosen: 'de' },
  { name: 'rubbish', uiLocales: undefined, acceptLanguage: ';;q=,,\t"', chosen: 'en' },
  { name: 'a huge header', uiLocales: undefined, acceptLanguage: `de,${'x'.repeat(600)}`, chosen: 'en' },
  { name: 'ui_locales before the browser', uiLocales: 'ar', acceptLanguage: 'de', chosen: 'ar' },
  { name: 'ui_locales in order', uiLocales: 'fr-CA de ar', acceptLanguage: 'ar', chosen: 'de' },
  { name: 'ui_locales: a region before another language', uiLocales: 'de-AT en', acceptLanguage: 'en', chosen: 'de' },
  { name: 'ui_locales in another letter case', uiLocales: 'fr-CA DE-at', acceptLanguage: 'ar', chosen: 'de' },
  { name: 'a region before another language', uiLocales: undefined, acceptLanguage: 'de-CH, en', chosen: 'de' },
  { name: 'a region with a script', uiLocales: undefined, acceptLanguage: 'ar-Arab-EG,en', chosen: 'ar' },
  { name: 'equal weights', uiLocales: undefined, acceptLanguage: 'de-AT;q=0.8,en;q=0.8', chosen: 'de' },
  {
    name: 'a private subtag',
    uiLocales: undefined,
    acceptLanguage: 'de-AT-x-private;q=0.9, en;q=0.8',
    chosen: 'de'
  },
  { name: 'any before another language', uiLocales: undefined, acceptLanguage: '*, de', chosen: 'de' },
  { name: 'any after unknown ones', uiLocales: undefined, acceptLanguage: 'fr, *;q=0.5', chosen: 'en' },
  { name: 'any but the first', uiLocales: undefined, acceptLanguage: 'en;q=0, *', chosen: 'ar' },
  { name: 'a region of a refused language', uiLocales: undefined, acceptLanguage: 'de-AT, de;q=0, ar', chosen: 'ar' },
  { name: 'everything refused', uiLocales: undefined, acceptLanguage: '*;q=0', chosen: 'en' },
  { name: 'only the default refused', uiLocales: undefined, acceptLanguage: 'en;q=0', chosen: 'ar' },
  { name: 'spaces around a weight', uiLocales: undefined, acceptLanguage: 'en ; q=0.2 , de ; Q=0.3', chosen: 'de' },
  {
    name: 'one entry that is no range',
    uiLocales: undefined,
    acceptLanguage: 'en;q=x, 123456789, de_AT, ar',
    chosen: 'ar'
  },
  { name: 'unknown ui_locales', uiLocales: 'fr', acceptLanguage: 'de', chosen: 'de' },
  { name: 'ui_locales that are no tags', uiLocales: 'ar;q=1 ../de', acceptLanguage: 'de', chosen: 'de' }
])('the language of a page: $name gives $chosen', ({ uiLocales, acceptLanguage, chosen }) => {
  expect(chooseLanguage({ uiLocales, acceptLanguage }, AVAILABLE)).toBe(chosen)
})

test.each([
  { requested: 'pt', available: ['en', 'pt-BR'], chosen: 'pt-BR' },
  { requested: 'pt-PT, en', available: ['en', 'pt-BR'], chosen: 'en' },
  { requested: 'pt, en', available: ['en', 'pt-BR', 'pt'], chosen: 'pt' },
  { requested: 'zh-Hant-TW, en', available: ['en', 'zh-Hans', 'zh-Hant'], chosen: 'zh-Hant' },
  { requested: 'zh-Hant-x-a-b, en', available: ['en', 'zh', 'zh-Hant-x'], chosen: 'zh' },
  { requested: 'pt-br', available: ['en', 'pt-BR'], chosen: 'pt-BR' },
  { requested: 'de', available: [], chosen: undefined }
])('the language of a page: $requested among $available gives $chosen (RFC 4647 §3.4)', (row) => {
  const { requested: acceptLanguage, available, chosen } = row
  expect(chooseLanguage({ uiLocales: undefined, acceptLanguage }, available)).toBe(chosen)
})

const language = createLanguage('en', {
  greeting: 'Hello <b>{name}</b>, it is {day, date, day}',
  plain: 'Hello {name}'
})

test('a value is escaped and cannot change the text direction around it', () => {
  const html = language.toHtml({ key: 'plain', values: { name: `<img src=x onerror='"&'>` } })
  expect(html).toBe('Hello <bdi>&lt;img src&#x3D;x onerror&#x3D;&#x27;&quot;&amp;&#x27;&gt;</bdi>')
})

test('braces and tags in a value are plain characters', () => {
  expect(language.toHtml({ key: 'plain', values: { name: '{name} </b>' } })).toBe('Hello <bdi>{name} &lt;/b&gt;</bdi>')
})

test('<b> becomes <strong> in HTML and is removed in plain text; days are those of UTC', () => {
  const message = { key: 'greeting', values: { name: 'Ann', day: new Date('2026-11-21T23:59:00Z') } }
  expect(language.toHtml(message)).toBe('Hello <strong><bdi>Ann</bdi></strong>, it is November 21, 2026')
  expect(language.toText(message)).toBe('Hello Ann, it is November 21, 2026')
})

test('a missing text throws', () => {
  expect(() => language.toHtml({ key: 'none' })).toThrow('the language en has no text for none')
})

test.each([
  { seconds: 3600, en: '1 hour', de: '1 Stunde' },
  { seconds: 7_776_000, en: '90 days', de: '90 Tage' },
  { seconds: 5400, en: '90 minutes', de: '90 Minuten' },
  { seconds: 61, en: '61 seconds', de: '61 Sekunden' }
])('$seconds seconds read as $en', ({ seconds, en, de }) => {
  const languages = loadLanguages()
  expect(languages.get('en')?.duration(seconds)).toBe(en)
  expect(languages.get('de')?.duration(seconds)).toBe(de)
})

test.each([
  { seconds: -5, en: '1 minute ago', de: 'vor 1 Minute' },
  { seconds: 59, en: '1 minute ago', de: 'vor 1 Minute' },
  { seconds: 720, en: '12 minutes ago', de: 'vor 12 Minuten' },
  { seconds: 7_199, en: '1 hour ago', de: 'vor 1 Stunde' },
  { seconds: 86_399, en: '23 hours ago', de: 'vor 23 Stunden' },
  { seconds: 172_800, en: '2 days ago', de: 'vor 2 Tagen' }
])('$seconds seconds before read as $en', ({ seconds, en, de }) => {
  const languages = loadLanguages()
  expect(languages.get('en')?.ago(seconds)).toBe(en)
  expect(languages.get('de')?.ago(seconds)).toBe(de)
})

test('direction: Arabic right to left, the others left to right', () => {
  const directions = [...loadLanguages()].map(([tag, { direction }]) => [tag, direction])
  expect(Object.fromEntries(directions)).toEqual({ ar: 'rtl', de: 'ltr', en: 'ltr' })
})
