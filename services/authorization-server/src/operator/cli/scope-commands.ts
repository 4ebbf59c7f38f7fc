import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { createScopeStore, type Scope } from '../../storage/postgres/scopes.js'
import { createScope, type ScopeAdministration, scopeDocument } from '../use-cases/administer-scopes.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { addLimitOption, upTo } from './limit.js'
import { addScopeChangeCommands } from './scope-change-commands.js'
import { addScopeOptions, type ScopeOptions, scopeSettingsOf } from './scope-options.js'
import { table } from './table.js'
import { addTranslationOptions, readTranslations, type TranslationOptions } from './translation-options.js'

type CreateOptions = TranslationOptions & ScopeOptions & { title: string; description: string; json?: boolean }

export function addScopeCommands(program: Command, context: CommandDeps): void {
  const scopes = program.command('scopes').description('the catalogue of scopes that clients can be registered for')
  const deps = (): ScopeAdministration => {
    const database = context.database()
    return { scopes: createScopeStore(database), resourceServers: createResourceServerStore(database) }
  }

  addScopeOptions(
    addTranslationOptions(
      scopes
        .command('create')
        .description('add a scope to the catalogue')
        .argument('<name>', 'the scope as clients request it, such as reports.read')
        .requiredOption('--title <text>', 'title for the consent page, such as "See your reports"')
        .option('--description <text>', 'description for the consent page', '')
    )
  )
    .option('--json', 'print {"name","title",…}')
    .action(async (name: string, { json, ...options }: CreateOptions) => {
      const { title, description } = options
      const texts = { title, description, translations: readTranslations(options) }
      const command = { name, ...texts, ...scopeSettingsOf(options) }
      const scope = await createScope(command, authorOf(context), deps())
      printResult(context, json, scopeDocument(scope), [`Created scope ${name}`])
    })

  addLimitOption(scopes.command('list'))
    .description('list the catalogue')
    .option('--json', 'print {"scopes":[…]}')
    .action(async ({ json, limit }: { json?: boolean; limit?: number }) => {
      const found = upTo(limit, await deps().scopes.list(), 'scopes', context)
      const rows = found.map((scope) => [scope.name, scope.title, scope.audience ?? 'default API', marksOf(scope)])
      printResult(context, json, { scopes: found.map(scopeDocument) }, table(['NAME', 'TITLE', 'API', ''], rows))
    })

  addScopeChangeCommands(scopes, context, deps)
}

function marksOf({ builtIn, isDefault, isDiscoverable, isSelfService, selects }: Scope): string {
  const marks = [builtIn && 'built in', isDefault && 'default', isDiscoverable && 'discoverable']
  return [...marks, isSelfService && 'self-service', selects && 'selects'].filter(Boolean).join(', ')
}
