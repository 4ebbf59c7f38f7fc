import type { Command } from 'commander'
import type { ScopeTranslation } from '../../storage/postgres/scopes.js'
import { collect } from './client-options.js'
import { CommandFailure } from './exit.js'

export type TranslationOptions = { titleIn: readonly string[]; descriptionIn: readonly string[] }

export function addTranslationOptions(command: Command): Command {
  return command
    .option(
      '--title-in <language=text>',
      'the title in another language, such as "de=Ihre Berichte"; repeatable',
      collect,
      []
    )
    .option('--description-in <language=text>', 'the description in another language; repeatable', collect, [])
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
    for (const pair of given) {
      const [, language, text] = /^([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)=(.*\S.*)$/.exec(pair) ?? []
      if (language === undefined || text === undefined) {
        throw new CommandFailure(
          'usage',
          `${JSON.stringify(pair)} must have the form language=text, such as de=Berichte`
        )
      }
      translations[language] = { ...translations[language], [part]: text.trim() }
    }
  }
  return translations
}
