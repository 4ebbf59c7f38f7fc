import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import {
  deleteScope,
  type ScopeAdministration,
  scopeDocument,
  updateScope
} from '../administration/administer-scopes.js'
import { collect } from './client-options.js'
import { requireConfirmation } from './confirm.js'
import { authorOf, type CommandContext } from './context.js'
import { CommandFailure } from './exit.js'
import { addTranslationOptions, readTranslations, type TranslationOptions } from './translation-options.js'

type UpdateOptions = TranslationOptions & {
  title?: string
  description?: string
  dropLanguage: readonly string[]
  json?: boolean
}
type DeleteOptions = { fromClients?: boolean; yes?: boolean; json?: boolean }

export function addScopeChangeCommands(
  scopes: Command,
  context: CommandContext,
  deps: () => ScopeAdministration
): void {
  addTranslationOptions(
    scopes
      .command('update')
      .description('change what people read of a scope; texts that are not given stay')
      .argument('<name>')
      .option('--title <text>', 'what the consent page says it allows')
      .option('--description <text>', 'one more sentence for the consent page; "" for none')
      .option('--drop-language <language>', 'forget the texts in another language; may be repeated', collect, [])
  )
    .option('--json', 'print {"name","title",…}')
    .action(async (name: string, { json, ...options }: UpdateOptions) => {
      const { title, description, dropLanguage, titleIn, descriptionIn } = options
      if (
        title === undefined &&
        description === undefined &&
        [dropLanguage, titleIn, descriptionIn].flat().length === 0
      ) {
        throw new CommandFailure('usage', 'say what is to change')
      }
      const command = {
        name,
        texts: (current: { title: string; description: string; translations: object }) => ({
          title: title ?? current.title,
          description: description ?? current.description,
          translations: readTranslations(options, without(current.translations, dropLanguage))
        })
      }
      const scope = await updateScope(command, authorOf(context), deps())
      printResult(context, json, scopeDocument(scope), [`${name} is now as you asked for`])
    })

  scopes
    .command('delete')
    .description('delete a scope that is not built in; tokens that hold it keep it until they end')
    .argument('<name>')
    .option('--from-clients', 'take it from the clients that are registered for it, too')
    .option('--yes', 'delete without asking')
    .option('--json', 'print {"name",…,"taken_from"}')
    .action(async (name: string, { fromClients = false, yes, json }: DeleteOptions) => {
      await requireConfirmation(`Delete the scope ${name}?`, yes, context)
      const { scope, clientIds } = await deleteScope({ name, fromClients }, authorOf(context), deps())
      const taken = clientIds.map((clientId) => `taken from the client ${clientId}`)
      printResult(context, json, { ...scopeDocument(scope), taken_from: clientIds }, [
        `deleted scope ${name}`,
        ...taken
      ])
    })
}

function without(translations: object, languages: readonly string[]): Record<string, object> {
  return Object.fromEntries(Object.entries(translations).filter(([language]) => !languages.includes(language)))
}
