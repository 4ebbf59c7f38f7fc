import { isScopeToken } from '@valetkey/oauth-protocol'
import type { Command } from 'commander'
import { createScopeStore, type Scope } from '../storage/scopes.js'
import { type CommandContext, print, table } from './context.js'
import { CommandFailure } from './exit.js'

export function addScopeCommands(program: Command, context: CommandContext): void {
  const scopes = program
    .command('scopes')
    .description('the catalogue of permissions that clients can be registered for')

  scopes
    .command('create')
    .description('add a scope to the catalogue')
    .argument('<name>', 'the scope as it stands in requests, such as reports.read')
    .requiredOption('--title <text>', 'what the consent page says it allows, such as "See your reports"')
    .option('--description <text>', 'one more sentence for the consent page', '')
    .option('--json', 'print {"name","title","description"}')
    .action(async (name: string, options: { title: string; description: string; json?: boolean }) => {
      if (!isScopeToken(name) || name.length > 100) {
        throw new CommandFailure('usage', 'a scope name has 1 to 100 printable ASCII characters, no blank, " or \\')
      }
      if (options.title.trim() === '') throw new CommandFailure('usage', 'the title is empty')
      const scope = { name, title: options.title.trim(), description: options.description.trim() }
      const created = await createScopeStore(context.database()).create(scope)
      if (!created) throw new CommandFailure('conflict', `there is a scope ${name} already`)
      print(context, options.json, scope, [`created scope ${name}`])
    })

  scopes
    .command('list')
    .description('list the catalogue')
    .option('--json', 'print {"scopes":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await createScopeStore(context.database()).list()
      const rows = found.map((scope) => [scope.name, scope.title, scope.builtIn ? 'built in' : ''])
      print(context, json, { scopes: found.map(toJson) }, table(['NAME', 'TITLE', ''], rows))
    })
}

function toJson(scope: Scope) {
  return { name: scope.name, title: scope.title, description: scope.description, built_in: scope.builtIn }
}
