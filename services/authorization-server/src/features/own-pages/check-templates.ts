import { compilePages, LAYOUT, newEngine, PARTIALS, type Page, type Templates } from '../../http/templates.js'
import type { Language } from '../../platform/i18n/language.js'
import { requiredParts, textOf } from './required-parts.js'
import { describeState, sampleOf, statesOf } from './sample-data.js'
import { type DataPath, type PageUses, readUses, type Use } from './template-uses.js'

/** Every value that the built-in page shows must be shown: the user decides by them. */
const DECISION_PAGES = ['consent.hbs']

const MARKERS = /⟦[^⟧]*⟧/g
const MOST_MISTAKES_OF_A_PAGE = 10

/**
 * Compares each page that uses a replaced template with the built-in one, in every state: it may read the same data, and must
 * have the same forms. So a release that adds a required field refuses a template without it.
 * @param own all replaced templates; their syntax is right
 * @returns one line for each mistake, beginning with the file
 */
export function checkTemplates(builtIn: Templates, own: Templates, language: Language): readonly string[] {
  const replaced: Templates = new Map([...builtIn, ...own])
  const pages = [...builtIn.keys()].filter((name) => name !== LAYOUT && !name.startsWith(`${PARTIALS}/`))
  const layout = { builtIn: readUses(builtIn, LAYOUT), own: readUses(replaced, LAYOUT) }
  const checked = pages.flatMap((page) => {
    const theirs = withLayout(readUses(replaced, page), layout.own)
    const files = [...theirs.files].filter((file) => own.has(file))
    if (files.length === 0) return []
    const ours = withLayout(readUses(builtIn, page), layout.builtIn)
    const mistakes = [...theirs.mistakes, ...unknownNames(ours, theirs), ...wrongMessages(theirs, language)]
    // Rendering would fail for the same reasons, with less clear messages.
    if (mistakes.length > 0) return mistakes
    return compareStates(ours, { ours: compilePage(builtIn, page), theirs: compilePage(replaced, page) }, page).map(
      (what) => `${files.join(' with ')}: ${what}`
    )
  })
  return [...new Set(checked)]
}

const withLayout = (page: PageUses, layout: PageUses): PageUses => ({
  uses: [...page.uses, ...layout.uses.filter(({ path }) => path[0] !== 'body')],
  messages: [...page.messages, ...layout.messages],
  files: new Set([...page.files, ...layout.files]),
  mistakes: new Set([...page.mistakes, ...layout.mistakes])
})

function unknownNames(ours: PageUses, theirs: PageUses): readonly string[] {
  const isKnown = ({ path }: Use) => ours.uses.some((known) => path.every((name, at) => known.path[at] === name))
  const names = [...new Set(ours.uses.map(({ path }) => written(path)))].toSorted().join(', ')
  return theirs.uses
    .filter((use) => !isKnown(use))
    .map(({ file, line, path }) => `${file}: line ${line}: the page has no ${written(path)}; it has ${names}`)
}

const written = (path: DataPath): string => path.join('.').replaceAll('.*', '[]')

function wrongMessages({ messages }: PageUses, language: Language): readonly string[] {
  return messages.flatMap(({ key, values, file, line }) => {
    try {
      // A number is accepted wherever a text, a count or a date is.
      language.toText({ key, values: Object.fromEntries(values.map((name) => [name, 1])) })
      return []
    } catch (error) {
      return [`${file}: line ${line}: ${error instanceof Error ? error.message : String(error)}`]
    }
  })
}

function compareStates(ours: PageUses, pages: { ours: Page; theirs: Page }, page: string): readonly string[] {
  const mistakes = new Map<string, string>()
  const uses = distinct(ours.uses)
  for (const state of statesOf(uses)) {
    const data = sampleOf(uses, state)
    for (const mistake of compare(page, pages.ours(data), attempt(pages.theirs, data))) {
      if (!mistakes.has(mistake)) mistakes.set(mistake, `${mistake}${describeState(state)}`)
    }
  }
  return [...mistakes.values()].map(readable).slice(0, MOST_MISTAKES_OF_A_PAGE)
}

/** Leaves out uses that read the same under the same conditions. */
function distinct(uses: readonly Use[]): readonly Use[] {
  return [...new Map(uses.map((use) => [JSON.stringify([use.path, use.kind, use.guards]), use])).values()]
}

type Attempt = { html: string } | { failure: string }

function attempt(page: Page, data: object): Attempt {
  try {
    return { html: page(data) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { failure: message.replace(/ not defined in .*/s, ' is not there: test it with {{#if}}') }
  }
}

function compare(page: string, html: string, theirs: Attempt): readonly string[] {
  if ('failure' in theirs) return [`cannot be rendered: ${theirs.failure}`]
  const parts = requiredParts(theirs.html)
  const lacking = [...requiredParts(html)].filter((part) => !parts.has(part)).map((part) => `lacks ${part}`)
  if (!DECISION_PAGES.includes(page)) return lacking
  const shown = new Set(textOf(theirs.html).match(MARKERS))
  const hidden = new Set((textOf(html).match(MARKERS) ?? []).filter((value) => !shown.has(value)))
  return [...lacking, ...[...hidden].map((value) => `does not show ${value}`)]
}

/** Markers as they are written in templates. */
const readable = (mistake: string): string =>
  mistake.replace(MARKERS, (value) => `{{${value.slice(1, -1).replaceAll('.*', '[]')}}}`)

/** Instead of texts, the helpers insert their arguments. */
function compilePage(templates: Templates, page: string): Page {
  const engine = newEngine()
  const insert = (given: unknown, { hash }: { hash: Record<string, unknown> }) =>
    [String(given), ...Object.values(hash).map(String)].join(' ')
  engine.registerHelper('t', insert)
  engine.registerHelper('text', insert)
  return compilePages(templates, engine).get(page) as Page
}
