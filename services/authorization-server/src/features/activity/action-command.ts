import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { ApiOptions } from '../../operator/cli/api-options.js'
import { collect } from '../../operator/cli/client-options.js'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { changeActions, readActions, requireActions } from './administer-actions.js'
import { type ApiAction, createApiActionStore } from './api-action-store.js'

type Given = { action?: readonly string[]; actionIn?: readonly string[]; removeAction?: readonly string[] }

/** The same options for the command of their own, and for those that create and change an API. */
export const actionOptions: ApiOptions = {
  name: '--action',
  addTo: (command) =>
    command
      .option(
        '--action <name=title>',
        'declare what the API reports that apps did, or change its title, such as list_files="Listed files"; repeatable',
        collect
      )
      .option(
        '--action-in <language:name=title>',
        'the title in another language, such as de:list_files="Dateien aufgelistet"; repeatable',
        collect
      )
      .option(
        '--remove-action <name>',
        'no longer count an action; what was counted is no longer shown; repeatable',
        collect
      ),
  read(options) {
    const change = readChange(options)
    if (change === undefined) return undefined
    return async (clientId, context) => {
      await changeActions(clientId, change, authorOf(context), depsOf(context))
    }
  }
}

const depsOf = (context: CommandDeps) => ({ apiActions: createApiActionStore(context.database()) })

export function addActionCommand(resourceServers: Command, context: CommandDeps): void {
  const command = resourceServers
    .command('actions')
    .description('show or declare what an API reports that apps did, for the page of connected apps')
    .argument('<client_id>')
  actionOptions
    .addTo(command)
    .option('--json', 'print {"client_id","audience","actions"}')
    .action(async (clientId: string, { json, ...given }: Given & { json?: boolean }) => {
      await actionOptions.read(given)?.(clientId, context)
      const document = await readActions(clientId, depsOf(context))
      printResult(context, json, document, linesOf(document))
    })
}

/** @returns undefined if nothing is given */
function readChange({ action = [], actionIn = [], removeAction = [] }: Given) {
  const titles = action.map(readTitle)
  const translations = actionIn.map(readTranslation)
  if (titles.length + translations.length + removeAction.length === 0) return undefined
  // Before a credential is created.
  requireActions([...new Map(titles.map((each) => [each.name, { ...each, translations: {} }])).values()])
  return (former: readonly ApiAction[]): readonly ApiAction[] => {
    const actions = new Map(former.map((each) => [each.name, each]))
    for (const name of removeAction) if (!actions.delete(name)) throw noAction(name)
    for (const { name, title } of titles)
      actions.set(name, { name, title, translations: actions.get(name)?.translations ?? {} })
    for (const { name, language, title } of translations) {
      const known = actions.get(name)
      if (known === undefined) throw noAction(name)
      actions.set(name, { ...known, translations: { ...known.translations, [language]: title } })
    }
    return [...actions.values()]
  }
}

function readTitle(pair: string): { name: string; title: string } {
  const [, name, title] = /^([^=]+)=(.*)$/s.exec(pair) ?? []
  if (name === undefined || title === undefined)
    throw new CommandFailure('usage', `${JSON.stringify(pair)} must have the form name=title`)
  return { name, title }
}

function readTranslation(text: string): { language: string; name: string; title: string } {
  const [, language, name, title] = /^([^:=]+):([^=]+)=(.*)$/s.exec(text) ?? []
  if (language === undefined || name === undefined || title === undefined)
    throw new CommandFailure('usage', `${JSON.stringify(text)} must have the form language:name=title`)
  return { language, name, title }
}

function noAction(name: string): CommandFailure {
  return new CommandFailure('usage', `the API has no action ${name}`)
}

function linesOf({ audience, actions }: { audience: string; actions: readonly ApiAction[] }): string[] {
  if (actions.length === 0) return [`No actions are declared for ${audience}.`]
  return actions.flatMap(({ name, title, translations }) => [
    `${name}: ${title}`,
    ...Object.entries(translations).map(([language, text]) => `  ${language}: ${text}`)
  ])
}
