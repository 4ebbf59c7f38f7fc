import type { Command } from 'commander'
import type { ScopeTranslation } from '../../storage/postgres/scopes.js'
import { collect } from './client-options.js'
import { CommandFailure } from './exit.js'

export type TranslationOptions = { titleIn: readonly string[]; descriptionIn: readonly string[] }

export function addTitleInOption(command: Command): Command {
  return command.option(
    '--title-in <language=text>',
    'the title in another language, such as "de=Ihre Berichte"; repeatable',
    collect,
    []
  )
}

export function addTranslationOptions(command: Command): Command {
  return addTitleInOption(command).option(
    '--description-in <language=text>',
    'the description in another language; repeatable',
    collect,
    []
  )
}

/** @param earlier the current texts; each given text replaces the one in its language */
export function readTranslations(
  { titleIn, descriptionIn }: TranslationOptions,
  earlier: Readonly<Record<string, ScopeTranslation>> = {}
): Record<string, ScopeTranslation> {
  const translations: Record<string, ScopeTranslation> = { ...earlier }
  for (const [part, given] of [
    ['title', titleIn],
    ['description', descriptionIn]
  ] as const) {
    for (const [language, text] of given.map(readTranslation)) {
      translations[language] = { ...translations[language], [part]: text }
    }
  }
  return translations
}

/** @returns language and text of `language=text` */
export function readTranslation(pair: string): readonly [string, string] {
  const [, language, text] = /^([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)=(.*\S.*)$/.exec(pair) ?? []
  if (language !== undefined && text !== undefined) return [language, text.trim()]
  throw new CommandFailure('usage', `${JSON.stringify(pair)} must have the form language=text, such as de=Berichte`)
}

/** The texts in the other languages. */
export function without<Text>(
  translations: Readonly<Record<string, Text>>,
  languages: readonly string[]
): Readonly<Record<string, Text>> {
  return Object.fromEntries(Object.entries(translations).filter(([language]) => !languages.includes(language)))
}
