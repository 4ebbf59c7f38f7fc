import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { type ClientRegistration, createClientStore } from '../storage/clients.js'
import { createScopeStore } from '../storage/scopes.js'
import { type CommandContext, table } from './context.js'
import { CommandFailure } from './exit.js'
import { type RegistrationOptions, registerClient } from './register-client.js'

export function addClientCommands(program: Command, context: CommandContext): void {
  const clients = program.command('clients').description('the third-party apps that may ask for access')

  clients
    .command('create')
    .description('register a client; its secret is printed once')
    .requiredOption('--name <text>', 'the name that people see on the consent page')
    .requiredOption('--redirect-uri <uri>', 'where answers may go; may be repeated', collect)
    .option('--scope <list>', 'scopes separated by blanks, shown as required; may be repeated', collect, [])
    .option('--optional-scope <list>', 'scopes that the user can leave out; may be repeated', collect, [])
    .option('--public', 'it cannot keep a secret: none is made, and PKCE is required')
    .option('--no-refresh', 'issue no refresh tokens')
    .option('--require-pkce', 'refuse requests without a code_challenge')
    .option('--consent <policy>', 'ask (each time) or remember (ask for new scopes only)', 'ask')
    .option('--verified', 'you have made sure who runs it; the consent page says so')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async (options: RegistrationOptions & { json?: boolean }) => {
      const stores = { clients: createClientStore(context.database()), scopes: createScopeStore(context.database()) }
      const { client, clientSecret } = await registerClient(options, stores)
      const secretLine =
        clientSecret === undefined ? [] : [`client secret: ${clientSecret}`, 'It is shown this once only.']
      printResult(
        context,
        options.json,
        { ...toJson(client), ...(clientSecret !== undefined && { client_secret: clientSecret }) },
        [`registered ${client.name}`, `client id:     ${client.clientId}`, ...secretLine]
      )
    })

  clients
    .command('list')
    .description('list all clients')
    .option('--json', 'print {"clients":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await createClientStore(context.database()).list()
      const rows = found.map((client) => [
        client.clientId,
        client.name,
        client.type,
        client.disabled ? 'disabled' : 'enabled'
      ])
      const lines = rows.length === 0 ? ['There are no clients.'] : table(['CLIENT ID', 'NAME', 'TYPE', 'STATE'], rows)
      printResult(context, json, { clients: found.map(toJson) }, lines)
    })

  clients
    .command('show')
    .description('show one client')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const client = await createClientStore(context.database()).find(clientId)
      if (client === undefined) throw new CommandFailure('notFound', `there is no client ${clientId}`)
      const document = toJson(client)
      const lines = Object.entries(document).map(
        ([name, value]) => `${name}: ${Array.isArray(value) ? value.join(' ') : value}`
      )
      printResult(context, json, document, lines)
    })
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

function toJson(client: ClientRegistration) {
  return {
    client_id: client.clientId,
    name: client.name,
    type: client.type,
    redirect_uris: client.redirectUris,
    scope: client.requiredScopes.join(' '),
    optional_scope: client.optionalScopes.join(' '),
    refresh: client.issuesRefreshTokens,
    require_pkce: client.requiresPkce,
    consent: client.consent,
    verified: client.verified,
    disabled: client.disabled,
    created_at: client.createdAt.toISOString()
  }
}
