import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { MOST_GRANTS_READ } from '../../storage/postgres/scopes.js'
import {
  deleteScope,
  type ScopeAdministration,
  type ScopeTexts,
  scopeDocument,
  updateScope
} from '../use-cases/administer-scopes.js'
import { findScopeUse, type ScopeUse, scopeUseDocument } from '../use-cases/scope-use.js'
import { collect } from './client-options.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { CommandFailure } from './exit.js'
import { addScopeOptions, type ScopeOptions, scopeSettingsOf } from './scope-options.js'
import { addTranslationOptions, readTranslations, type TranslationOptions, without } from './translation-options.js'

type UpdateOptions = TranslationOptions &
  ScopeOptions & {
    title?: string
    description?: string
    dropLanguage: readonly string[]
    json?: boolean
  }
type DeleteOptions = { fromClients?: boolean; dryRun?: boolean; yes?: boolean; json?: boolean }

export function addScopeChangeCommands(scopes: Command, context: CommandDeps, deps: () => ScopeAdministration): void {
  addScopeOptions(
    addTranslationOptions(
      scopes
        .command('update')
        .description('change a scope; what is not passed stays the same')
        .argument('<name>')
        .option('--title <text>', 'title for the consent page')
        .option('--description <text>', 'description for the consent page; "" for none')
        .option('--drop-language <language>', 'delete the texts in this language; repeatable', collect, [])
    )
  )
    .option('--json', 'print {"name","title",…}')
    .action(async (name: string, { json, ...options }: UpdateOptions) => {
      const { title, description, dropLanguage, titleIn, descriptionIn } = options
      const settings = scopeSettingsOf(options)
      const given = [title, description, ...Object.values(settings), ...dropLanguage, ...titleIn, ...descriptionIn]
      if (given.every((value) => value === undefined)) {
        throw new CommandFailure('usage', 'nothing to change: pass at least one option')
      }
      const command = {
        name,
        settings,
        texts: (current: { title: string; description: string; translations: ScopeTexts['translations'] }) => ({
          title: title ?? current.title,
          description: description ?? current.description,
          translations: readTranslations(options, without(current.translations, dropLanguage))
        })
      }
      const scope = await updateScope(command, authorOf(context), deps())
      printResult(context, json, scopeDocument(scope), [`Updated scope ${name}`])
    })

  scopes
    .command('delete')
    .description('delete a scope that is not built in; tokens lose it at once')
    .argument('<name>')
    .option('--from-clients', 'also remove it from the clients that are registered for it')
    .option('--dry-run', 'only show which clients, grants and users would lose it')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"name",…,"taken_from"}; with --dry-run {"name",…,"client_ids","live_grants",…}')
    .action(async (name: string, { fromClients = false, dryRun, yes, json }: DeleteOptions) => {
      if (dryRun) {
        const use = await findScopeUse(name, deps())
        return printResult(context, json, scopeUseDocument(use), scopeUseLines(use))
      }
      await requireConfirmation(`Delete scope ${name}?`, yes, context)
      const { scope, clientIds } = await deleteScope({ name, fromClients }, authorOf(context), deps())
      const taken = clientIds.map((clientId) => `Removed from client ${clientId}`)
      printResult(context, json, { ...scopeDocument(scope), taken_from: clientIds }, [
        `Deleted scope ${name}`,
        ...taken
      ])
    })
}

function scopeUseLines({ scope, clientIds, onlyScopeOf, grants: { grants, users, isComplete } }: ScopeUse): string[] {
  const refusal = scope.builtIn
    ? ['It is built in and cannot be deleted.']
    : onlyScopeOf.map(
        (clientId) => `It is the only scope of client ${clientId}: register another one, or delete the client first.`
      )
  const count = `${isComplete ? '' : 'at least '}${grants} live grants of ${users} users`
  return [
    ...refusal,
    `Deleting the scope ${scope.name} would take it from ${clientIds.length} clients and ${count}.`,
    ...(isComplete ? [] : [`Only ${MOST_GRANTS_READ} grants of these clients were read.`]),
    ...clientIds.map((clientId) => `client ${clientId}`)
  ]
}
