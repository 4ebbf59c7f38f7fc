import { isScopeToken } from '@valetkey/oauth-protocol'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createScopeStore, type Scope, type ScopeTranslation } from '../storage/scopes.js'
import { type CommandContext, table } from './context.js'
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
    .option(
      '--title-in <language=text>',
      'the title in another language, such as "de=Ihre Berichte"; may be repeated',
      collect,
      []
    )
    .option('--description-in <language=text>', 'the sentence in another language; may be repeated', collect, [])
    .option('--json', 'print {"name","title",…}')
    .action(async (name: string, options: CreateOptions) => {
      if (!isScopeToken(name) || name.length > 100) {
        throw new CommandFailure('usage', 'a scope name has 1 to 100 printable ASCII characters, no blank, " or \\')
      }
      if (options.title.trim() === '') throw new CommandFailure('usage', 'the title is empty')
      const translations = readTranslations(options.titleIn, options.descriptionIn)
      const scope = { name, title: options.title.trim(), description: options.description.trim(), translations }
      const created = await createScopeStore(context.database()).create(scope)
      if (!created) throw new CommandFailure('conflict', `there is a scope ${name} already`)
      printResult(context, options.json, scope, [`created scope ${name}`])
    })

  scopes
    .command('list')
    .description('list the catalogue')
    .option('--json', 'print {"scopes":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await createScopeStore(context.database()).list()
      const rows = found.map((scope) => [scope.name, scope.title, scope.builtIn ? 'built in' : ''])
      printResult(context, json, { scopes: found.map(toJson) }, table(['NAME', 'TITLE', ''], rows))
    })
}

type CreateOptions = {
  title: string
  description: string
  titleIn: readonly string[]
  descriptionIn: readonly string[]
  json?: boolean
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

function readTranslations(titles: readonly string[], descriptions: readonly string[]) {
  const translations: Record<string, ScopeTranslation> = {}
  for (const [part, given] of [
    ['title', titles],
    ['description', descriptions]
  ] as const) {
    for (const pair of given) {
      const [, language, text] = /^([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)=(.*\S.*)$/.exec(pair) ?? []
      if (language === undefined || text === undefined) {
        throw new CommandFailure(
          'usage',
          `${JSON.stringify(pair)} is not of the form language=text, such as de=Berichte`
        )
      }
      translations[language] = { ...translations[language], [part]: text.trim() }
    }
  }
  return translations
}

function toJson(scope: Scope) {
  const { name, title, description, translations, builtIn } = scope
  return { name, title, description, translations, built_in: builtIn }
}
