import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { CommandDeps } from '../../operator/cli/command-deps.js'
import { addLimitOption, upTo } from '../../operator/cli/limit.js'
import { DEFAULT_LANGUAGE, type Language, loadLanguages } from '../../platform/i18n/language.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createClientRefusalStore, MOST_REFUSALS } from './client-refusal-store.js'
import { readRefusals } from './read-refusals.js'

const LIMIT = 20

export function addClientRefusalCommand(clients: Command, context: CommandDeps): void {
  addLimitOption(clients.command('refusals'), LIMIT)
    .description(`show the last refused requests of a client, newest first; kept for 7 days, at most ${MOST_REFUSALS}`)
    .argument('<client_id>')
    .option('--json', 'print {"refusals":[…]}')
    .action(async (clientId: string, { limit = LIMIT, json }: { limit?: number; json?: boolean }) => {
      const database = context.database()
      const documents = await readRefusals(clientId, limit + 1, {
        clients: createClientStore(database),
        refusals: createClientRefusalStore(database),
        english: loadLanguages().get(DEFAULT_LANGUAGE) as Language
      })
      const found = upTo(limit, documents, 'refusals', context)
      const lines = found.length === 0 ? ['There are no refused requests.'] : found.flatMap(linesOf)
      printResult(context, json, { refusals: found }, lines)
    })
}

function linesOf(refusal: Awaited<ReturnType<typeof readRefusals>>[number]): string[] {
  const { error_description: description, redirect_uri: redirectUri } = refusal
  const sender = refusal.authenticated ? 'authenticated' : 'not authenticated'
  return [
    `${refusal.occurred_at} ${refusal.endpoint} ${refusal.error} ${refusal.reason} (${sender})`,
    `  ${refusal.explanation}`,
    `  ${refusal.remedy}`,
    ...(description === undefined ? [] : [`  error_description: ${description}`]),
    ...(redirectUri === undefined ? [] : [`  redirect_uri: ${redirectUri}`]),
    `  request id: ${refusal.request_id}`
  ]
}
