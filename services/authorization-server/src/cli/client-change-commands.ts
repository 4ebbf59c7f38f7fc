import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import {
  type ClientAdministration,
  deleteClient,
  disableClient,
  enableClient,
  findClient,
  updateClient
} from '../administration/administer-client.js'
import { clientDocument } from '../administration/client-document.js'
import { addLifetimeOptions, type ClientOptions, collect, settingsOf } from './client-options.js'
import { requireConfirmation } from './confirm.js'
import { authorOf, type CommandContext } from './context.js'

type Options = { yes?: boolean; json?: boolean }

export function addClientChangeCommands(
  clients: Command,
  context: CommandContext,
  deps: () => ClientAdministration
): void {
  addLifetimeOptions(
    clients
      .command('update')
      .description('change a client: each option replaces all that it names, the rest stays; tokens live on')
      .argument('<client_id>')
      .option('--name <text>', 'the name that people see on the consent page')
      .option('--redirect-uri <uri>', 'in place of all that there are; may be repeated', collect)
      .option('--scope <list>', 'required scopes, in place of all that there are; may be repeated', collect)
      .option('--optional-scope <list>', 'the same for optional ones; "" for none', collect)
      .option('--refresh', 'issue refresh tokens')
      .option('--no-refresh', 'issue no more refresh tokens, and take none')
      .option('--require-pkce', 'refuse requests without a code_challenge')
      .option('--no-require-pkce', 'let requests pass without a code_challenge')
      .option('--consent <policy>', 'ask (each time) or remember (ask for new scopes only)')
      .option('--verified', 'you have made sure who runs it; the consent page says so')
      .option('--no-verified', 'the consent page says so no longer')
  )
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json, ...options }: ClientOptions & { json?: boolean }) => {
      const client = await updateClient({ clientId, settings: settingsOf(options) }, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`${client.name} is now as you asked for`])
    })

  clients
    .command('disable')
    .description('refuse a client, and end all of its tokens for good')
    .argument('<client_id>')
    .option('--yes', 'disable without asking')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: Options) => {
      const { name } = await findClient(clientId, deps())
      await requireConfirmation(`Disable ${name} (${clientId}), and end all of its tokens?`, yes, context)
      const client = await disableClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`${name} is disabled, and its tokens have ended`])
    })

  clients
    .command('enable')
    .description('let a client in again; tokens from before stay ended')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: Options) => {
      const client = await enableClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`${client.name} is enabled`])
    })

  clients
    .command('delete')
    .description('delete a client with its secrets and what users have allowed it, and end all of its tokens')
    .argument('<client_id>')
    .option('--yes', 'delete without asking')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: Options) => {
      const { name } = await findClient(clientId, deps())
      await requireConfirmation(`Delete ${name} (${clientId}), and end all of its tokens?`, yes, context)
      const client = await deleteClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`${name} is deleted, and its tokens have ended`])
    })
}
