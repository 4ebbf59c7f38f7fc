import type { Api, TitleIn } from '../../storage/postgres/resource-servers.js'
import { AdministrationError } from './administration-error.js'
import { requireName } from './name-of-record.js'
import { requireLanguageTag } from './require-language-tag.js'

type Titles = Pick<Api, 'title' | 'titleIn'>

/** The titles as operators see them. `title_in` is missing if it is empty. */
export function titlesOf({ title, titleIn = {} }: Partial<Titles>): { title?: string; title_in?: TitleIn } {
  return {
    ...(title !== undefined && { title }),
    ...(Object.keys(titleIn).length > 0 && { title_in: titleIn })
  }
}

/** What all credentials of an API have in common, as operators see it. */
export const apiDocument = ({ dpop, ...titles }: Partial<Titles & Pick<Api, 'dpop'>>) => ({ ...titlesOf(titles), dpop })

/** @param given undefined: that of the API, if it has another credential; null: none */
export function toTitle(given: string | null | undefined, api: Api | undefined): string | undefined {
  if (given === null) return undefined
  return given === undefined ? api?.title : requireName(given, 'a title')
}

/**
 * Without a title, pages show the host only, so there is nothing to translate.
 * @param isGiven whether the operator has passed titles in other languages
 */
export function toTitleIn(titleIn: TitleIn, title: string | undefined, isGiven: boolean): TitleIn {
  const titles = Object.entries(titleIn)
  if (title === undefined && isGiven && titles.length > 0)
    throw new AdministrationError('invalid', 'pass a title, too, not only in other languages')
  if (title === undefined) return {}
  for (const [language] of titles) requireLanguageTag(language)
  return Object.fromEntries(titles.map(([language, text]) => [language, requireName(text, `the title in ${language}`)]))
}
