import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createClientChangeStore } from '../../storage/postgres/client-changes.js'
import { createClientSecretStore } from '../../storage/postgres/client-secrets.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createConsentStore } from '../../storage/postgres/consents.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { createScopeStore } from '../../storage/postgres/scopes.js'
import { type ClientAdministration, findClient } from '../use-cases/administer-client.js'
import { clientDocument } from '../use-cases/client-document.js'
import { registerClient } from '../use-cases/register-client.js'
import { addClientChangeCommands } from './client-change-commands.js'
import { addLifetimeOptions, type ClientOptions, collect, settingsOf } from './client-options.js'
import { addClientSecretCommands } from './client-secret-commands.js'
import { authorOf, type CommandDeps, table } from './context.js'

type CreateOptions = ClientOptions & { name: string; redirectUri: readonly string[]; public?: boolean; json?: boolean }

export function addClientCommands(program: Command, context: CommandDeps): void {
  const clients = program.command('clients').description('third-party apps that may request access')
  const deps = (): ClientAdministration => administrationOf(context)

  addLifetimeOptions(
    clients
      .command('create')
      .description('register a client; its secret is printed once')
      .requiredOption('--name <text>', 'the name shown on the consent page')
      .requiredOption('--redirect-uri <uri>', 'an allowed redirect URI; repeatable', collect)
      .option('--scope <list>', 'required scopes, separated by spaces; repeatable', collect)
      .option('--optional-scope <list>', 'scopes that the user may decline; repeatable', collect)
      .option(
        '--resource <api>',
        'an API that it is limited to: name or audience of a resource server; repeatable',
        collect
      )
      .option('--public', 'a public client: it gets no secret and must use PKCE')
      .option('--no-refresh', 'issue no refresh tokens')
      .option('--require-pkce', 'refuse requests without a code_challenge')
      .option('--consent <policy>', 'ask (every time) or remember (ask only for new scopes)', 'ask')
      .option('--verified', 'mark the client as verified on the consent page')
  )
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async ({ json, ...options }: CreateOptions) => {
      const { name, redirectUri: redirectUris } = options
      const type = options.public ? 'public' : 'confidential'
      const registration = { ...settingsOf(options), name, redirectUris, type } as const
      const { client, secret } = await registerClient(registration, authorOf(context), deps())
      const document = {
        ...clientDocument(client),
        ...(secret && { client_secret: secret.clientSecret, secret_id: secret.secretId })
      }
      const secretLines = secret ? [`client secret: ${secret.clientSecret}`, 'It is shown only once.'] : []
      printResult(context, json, document, [
        `Registered client ${client.name}`,
        `client id:     ${client.clientId}`,
        ...secretLines
      ])
    })

  addClientReadCommands(clients, context, deps)
  addClientChangeCommands(clients, context, deps)
  addClientSecretCommands(clients, context, deps)
}

function addClientReadCommands(clients: Command, context: CommandDeps, deps: () => ClientAdministration): void {
  clients
    .command('list')
    .description('list all clients')
    .option('--json', 'print {"clients":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await deps().clients.list()
      const rows = found.map((client) => [
        client.clientId,
        client.name,
        client.type,
        client.disabled ? 'disabled' : 'enabled'
      ])
      const lines = rows.length === 0 ? ['There are no clients.'] : table(['CLIENT ID', 'NAME', 'TYPE', 'STATE'], rows)
      printResult(context, json, { clients: found.map(clientDocument) }, lines)
    })

  clients
    .command('show')
    .description('show one client')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const document = clientDocument(await findClient(clientId, deps()))
      printResult(context, json, document, linesOf(document))
    })
}

/** One line for each member. */
function linesOf(document: object): string[] {
  return Object.entries(document).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : value}`)
}

function administrationOf(context: CommandDeps): ClientAdministration {
  const database = context.database()
  return {
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database),
    consents: createConsentStore(database)
  }
}
