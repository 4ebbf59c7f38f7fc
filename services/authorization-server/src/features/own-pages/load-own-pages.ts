import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { ConfigurationError, decodeText } from '@valetkey/service-kit'
import handlebars from 'handlebars'
import { type PageFiles, STYLESHEET } from '../../http/page-files.js'
import { LAYOUT, PARTIALS, type Templates } from '../../http/templates.js'
import { DEFAULT_LANGUAGE, type Language, loadLanguages } from '../../platform/i18n/language.js'
import { checkTemplates } from './check-templates.js'

const MOST_BYTES = 256 * 1024

/** The content security policy blocks these. */
const BLOCKED: readonly { pattern: RegExp; what: string }[] = [
  { pattern: /<script\b(?![^>]*\bsrc\s*=)/i, what: 'an inline script' },
  { pattern: /<style\b/i, what: 'an inline stylesheet' },
  { pattern: /<[^>]*\sstyle\s*=/i, what: 'a style attribute' },
  { pattern: /<[^>]*\son[a-z]+\s*=/i, what: 'a script in an attribute' },
  { pattern: /javascript:/i, what: 'a javascript: address' },
  {
    pattern: /<(?:script|img|link|iframe|source|video)\b[^>]*\s(?:src|href)\s*=\s*["']?(?:https?:)?\/\//i,
    what: 'a file of another site'
  },
  {
    pattern: /(?:@import|url\()\s*["']?(?:https?:|data:|\/\/)/i,
    what: 'a font, an image or a stylesheet of another site'
  }
]

/**
 * The built-in templates and stylesheet, with those of `PAGES_DIR` in their places.
 * @throws {ConfigurationError} with one line for each mistake in the operator's own files
 */
export function readOwnPages(directory: string, { templates: builtIn, stylesheet }: PageFiles): PageFiles {
  const problems: string[] = []
  const own = readOwnFiles(directory, builtIn, problems)
  const templates = new Map([...own].filter(([name]) => name !== STYLESHEET))
  for (const [name, source] of templates) problems.push(...mistakesIn(name, source))
  // Pages are compared only if all their templates can be read.
  if (problems.length === 0)
    problems.push(...checkTemplates(builtIn, templates, loadLanguages().get(DEFAULT_LANGUAGE) as Language))
  if (problems.length > 0) throw new ConfigurationError(problems.map((problem) => `PAGES_DIR: ${problem}`))
  const warnings = [...own].flatMap(([name, source]) =>
    BLOCKED.filter(({ pattern }) => pattern.test(source)).map(({ what }) => `${name}: ${what}`)
  )
  return {
    templates: new Map([...builtIn, ...templates]),
    stylesheet: own.get(STYLESHEET) ?? stylesheet,
    own: [...own.keys()],
    warnings
  }
}

/** The folder and its `partials`, without hidden names: Kubernetes mounts have some. */
function readOwnFiles(directory: string, builtIn: Templates, problems: string[]): ReadonlyMap<string, string> {
  const names = [...listed(directory, ''), ...listed(directory, PARTIALS)].filter((name) => name !== PARTIALS)
  const files = new Map<string, string>()
  for (const name of names) {
    if (name !== STYLESHEET && !builtIn.has(name))
      problems.push(`${name}: there is no such page; docs/own-pages.md lists them`)
    else {
      const content = readText(path.join(directory, name))
      if ('text' in content) files.set(name, content.text)
      else problems.push(`${name}: ${content.problem}`)
    }
  }
  return files

  function listed(root: string, folder: string): readonly string[] {
    try {
      const found = readdirSync(path.join(root, folder)).filter((name) => !name.startsWith('.'))
      return found.toSorted().map((name) => path.posix.join(folder, name))
    } catch {
      // The folder for partials is optional.
      if (folder === '') problems.push(`the directory ${root} cannot be read`)
      return []
    }
  }
}

function readText(file: string): { text: string } | { problem: string } {
  try {
    if (statSync(file).size > MOST_BYTES) return { problem: 'is larger than 256 KiB' }
    return decodeText(readFileSync(file))
  } catch {
    return { problem: 'cannot be read' }
  }
}

function mistakesIn(name: string, source: string): readonly string[] {
  const mistakes: string[] = []
  try {
    handlebars.parse(source)
  } catch (error) {
    return [`${name}: ${(error instanceof Error ? error.message : String(error)).replaceAll('\n', ' ')}`]
  }
  const unquoted = /=\s*\{\{[^}]*\}\}/.exec(source.replace(/\{\{[^}]*\}\}/g, (call) => call.replaceAll('=', ' ')))
  if (unquoted !== null) mistakes.push(`${name}: an attribute value with {{…}} must be in quotes`)
  const bodies = source.match(/\{\{\{\s*body\s*\}\}\}/g)?.length ?? 0
  if (name === LAYOUT && bodies !== 1) mistakes.push(`${name}: must contain {{{body}}} once`)
  if (name !== LAYOUT && bodies > 0) mistakes.push(`${name}: only ${LAYOUT} may contain {{{body}}}`)
  return mistakes
}
