import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { PASSWORD_PROBLEMS } from '@valetkey/sign-in-rules'
import { IntlMessageFormat } from 'intl-messageformat'
import { featureOfMessage } from '../../../../../packages/dev-stack/lib/checks/feature-names.mjs'
import { ERROR_PAGE_REASONS } from '../../../src/http/send-error-page.js'
import { ERROR_CATALOGUE } from '../../../src/protocol/errors/error-catalogue.js'
import { english, filesUnder, messagesOf, readMessages } from '../../support/used-messages.js'

const files = filesUnder('messages', '.json')

/** Keys that code of the core composes. */
function composedKeys(): string[] {
  const pages = ERROR_PAGE_REASONS.map((reason) => `page_error.${reason}`)
  const ofPages = pages.flatMap((page) => ['title', 'message', 'advice'].map((part) => `${page}.${part}`))
  const ofCodes = ERROR_CATALOGUE.flatMap(({ meaning, causes, remedies }) => [meaning, ...causes, ...remedies])
  const ofPasswords = PASSWORD_PROBLEMS.map((problem) => `password.${problem}`)
  return ['direction', ...ofPages, ...ofCodes, ...ofPasswords]
}

/** The names of the values and tags in a text, such as `client` and `<b>`. */
function placeholders(text: string): string[] {
  const names = new Set<string>()
  const visit = (nodes: ReturnType<IntlMessageFormat['getAst']>): void => {
    for (const node of nodes) {
      if (node.type === 8) names.add(`<${node.value}>`)
      else if (node.type !== 0 && node.type !== 7) names.add(node.value)
      if ('options' in node) for (const option of Object.values(node.options)) visit(option.value)
      if ('children' in node) visit(node.children)
    }
  }
  visit(new IntlMessageFormat(text, 'en').getAst())
  return [...names].toSorted()
}

test('every text of the core in the English file is used, and no text is missing that is used', () => {
  const { present, used } = messagesOf(undefined, composedKeys())
  expect(present).toEqual(used)
})

test('every feature with messages has a test of their use', () => {
  const features = new Set(Object.keys(english).flatMap((key) => featureOfMessage(key) ?? []))
  const tests = filesUnder('test/features', '-messages.test.ts')
  expect([...features].filter((feature) => !tests.some(isIn(feature)))).toEqual([])
})

const isIn = (feature: string) => (file: string) => file.includes(`/features/${feature}/`)

test('every key that a template names is in the English file', () => {
  const named = filesUnder('views', '.hbs').flatMap(
    (file) => readFileSync(file, 'utf8').match(/(?<=\{\{(?:t|text) ")[^"]+/g) ?? []
  )
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((key) => !(key in english))).toEqual([])
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))('$name has the keys of en.json', ({ file }) => {
  expect(Object.keys(readMessages(file)).toSorted()).toEqual(Object.keys(english).toSorted())
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))(
  '$name has the values and marks of en.json in every text, and no other markup',
  ({ file }) => {
    const texts = Object.entries(readMessages(file))
    const wrong = texts.filter(([key, text]) => {
      const same = placeholders(text).join() === placeholders(english[key] ?? '').join()
      return !same || /[<>&]/.test(text.replace(/<\/?b>/g, ''))
    })
    expect(wrong).toEqual([])
  }
)

test.each(files.map((file) => ({ file, name: path.basename(file) })))('$name has its text direction', ({ file }) => {
  expect(['ltr', 'rtl']).toContain(readMessages(file).direction)
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))(
  '$name: the texts of error pages for users have no terms of the protocol',
  ({ file }) => {
    const forUsers = Object.entries(readMessages(file)).filter(
      ([key]) => /^(page_error|sign_in_problem)\./.test(key) && !key.startsWith('page_error.unknown_code.')
    )
    expect(forUsers.length).toBeGreaterThan(70)
    expect(forUsers.filter(([, text]) => /client_id|redirect_uri|OAuth|URI|\bparameter/i.test(text))).toEqual([])
  }
)
