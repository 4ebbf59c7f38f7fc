import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { PASSWORD_PROBLEMS } from '@valetkey/sign-in-rules'
import { IntlMessageFormat } from 'intl-messageformat'
import { SIGN_IN_PROBLEMS } from '../../../src/browser/login/sign-in-problem.js'
import { SHOWN_REASONS, textsOfReason } from '../../../src/features/refused-requests/shown-reason.js'
import { ERROR_PAGE_REASONS } from '../../../src/http/send-error-page.js'
import { ERROR_CATALOGUE } from '../../../src/protocol/errors/error-catalogue.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (file: string): Record<string, string> => JSON.parse(readFileSync(file, 'utf8'))
const files = readdirSync(path.join(root, 'messages')).map((name) => path.join(root, 'messages', name))
const english = read(path.join(root, 'messages/en.json'))

/** Keys that templates and code contain literally, and those that are composed. */
function usedKeys(): Set<string> {
  const sources = [...filesUnder('views', '.hbs'), ...filesUnder('src', '.ts')].map((file) =>
    readFileSync(file, 'utf8')
  )
  const written = sources.flatMap((source) => source.match(/(?<=["'])[a-z_]+(?:\.[a-z_0-9]+)+(?=["'])/g) ?? [])
  const pages = [
    ...ERROR_PAGE_REASONS.map((reason) => `page_error.${reason}`),
    ...SIGN_IN_PROBLEMS.map((reason) => `sign_in_problem.${reason}`)
  ]
  const ofPages = pages.flatMap((page) => ['title', 'message', 'advice'].map((part) => `${page}.${part}`))
  const ofCodes = ERROR_CATALOGUE.flatMap(({ meaning, causes, remedies }) => [meaning, ...causes, ...remedies])
  const ofPasswords = PASSWORD_PROBLEMS.map((problem) => `password.${problem}`)
  const ofLinks = ['invitation', 'password_reset'].flatMap((purpose) => [
    ...['title', 'lead'].map((part) => `account_link.${purpose}.${part}`),
    ...['subject', 'text', 'advice'].map((part) => `mail.${purpose}.${part}`)
  ])
  const ofRefusedLinks = ['unknown', 'too_many', 'too_many_at_once'].flatMap((reason) =>
    ['title', 'message', 'advice'].map((part) => `account_link.${reason}.${part}`)
  )
  const ofPasskeys = ['bad_name', 'full', 'not_added', 'not_local', 'done_added', 'done_removed', 'done_renamed'].map(
    (outcome) => `passkeys.${outcome}`
  )
  const ofRefusals = SHOWN_REASONS.flatMap((reason) => Object.values(textsOfReason(reason)))
  const composed = [...ofRefusals, ...ofPasskeys, ...ofPages, ...ofCodes, ...ofPasswords, ...ofLinks, ...ofRefusedLinks]
  return new Set(['direction', ...written.filter((key) => key in english), ...composed])
}

function filesUnder(folder: string, extension: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => path.join(root, folder, name))
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

test('every text of the English file is used, and no text is missing that is used', () => {
  expect(Object.keys(english).toSorted()).toEqual([...usedKeys()].toSorted())
})

test('every key that a template names is in the English file', () => {
  const named = filesUnder('views', '.hbs').flatMap(
    (file) => readFileSync(file, 'utf8').match(/(?<=\{\{(?:t|text) ")[^"]+/g) ?? []
  )
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((key) => !(key in english))).toEqual([])
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))('$name has the keys of en.json', ({ file }) => {
  expect(Object.keys(read(file)).toSorted()).toEqual(Object.keys(english).toSorted())
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))(
  '$name has the values and marks of en.json in every text, and no other markup',
  ({ file }) => {
    const texts = Object.entries(read(file))
    const wrong = texts.filter(([key, text]) => {
      const same = placeholders(text).join() === placeholders(english[key] ?? '').join()
      return !same || /[<>&]/.test(text.replace(/<\/?b>/g, ''))
    })
    expect(wrong).toEqual([])
  }
)

test.each(files.map((file) => ({ file, name: path.basename(file) })))('$name has its text direction', ({ file }) => {
  expect(['ltr', 'rtl']).toContain(read(file).direction)
})

test.each(files.map((file) => ({ file, name: path.basename(file) })))(
  '$name: the texts of error pages for users have no terms of the protocol',
  ({ file }) => {
    const forUsers = Object.entries(read(file)).filter(
      ([key]) => /^(page_error|sign_in_problem)\./.test(key) && !key.startsWith('page_error.unknown_code.')
    )
    expect(forUsers.length).toBeGreaterThan(70)
    expect(forUsers.filter(([, text]) => /client_id|redirect_uri|OAuth|URI|\bparameter/i.test(text))).toEqual([])
  }
)
