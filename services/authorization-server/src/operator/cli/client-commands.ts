import { scopesOf } from '@valetkey/oauth-protocol'
import { printResult } from '@valetkey/service-kit'
import { type Command, Option } from 'commander'
import { namesOfKind } from '../../storage/client-settings-table.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import { type ClientAdministration, findClient } from '../use-cases/administer-client.js'
import { clientDocument } from '../use-cases/client-document.js'
import { KEPT_SECRET_METHODS } from '../use-cases/kept-secret.js'
import { type GivenCredentials, type NewSecret, registerClient } from '../use-cases/register-client.js'
import { addClientChangeCommands } from './client-change-commands.js'
import type { ClientExtension } from './client-extension.js'
import { addSettingOptions, type ClientOptions, readLogo, settingsOf } from './client-options.js'
import { addClientSecretCommands } from './client-secret-commands.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { linesOfDocument } from './document-lines.js'
import { environmentLines } from './environment-lines.js'
import { CommandFailure } from './exit.js'
import { addLimitOption, upTo } from './limit.js'
import { readKeysFile } from './read-keys.js'
import { readSecret } from './read-secret.js'
import { registryAdministrationOf } from './registry-administration.js'
import { table } from './table.js'

type CreateOptions = ClientOptions & {
  name: string
  redirectUri: readonly string[]
  public?: boolean
  clientId?: string
  secretStdin?: boolean
  env?: boolean
  json?: boolean
}

type ClientFilter = { name?: string; redirectUri?: string; scope?: string; disabled?: boolean; discovered?: boolean }
type ListOptions = ClientFilter & { limit?: number; json?: boolean }

/** @returns the group `clients` */
export function addClientCommands(
  program: Command,
  context: CommandDeps,
  features: readonly { clientExtension?: ClientExtension }[]
): Command {
  const extension = features.find((feature) => feature.clientExtension !== undefined)?.clientExtension
  const clients = program.command('clients').description('third-party apps that may request access')
  const deps = (): ClientAdministration => registryAdministrationOf(context)

  const create = clients.command('create').description('register a client; its secret is printed once')
  addSettingOptions(create, 'create', namesOfKind('name', 'texts', 'scopes')).option(
    '--public',
    'a public client: it gets no secret and must use PKCE'
  )
  addSettingOptions(create, 'create', namesOfKind('flag', 'choice'))
    .option('--client-id <id>', 'keep the id that the client has at another server')
    .option('--secret-stdin', 'keep its secret, which is read from standard input')
  addSettingOptions(create, 'create', namesOfKind('text', 'url', 'logo', 'seconds', 'method', 'keys', 'key_uri'))
  extension?.addTo(create, 'create')
  create
    .addOption(new Option('--env', 'print the settings of the app as lines for a shell').conflicts('json'))
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async ({ json, env, ...options }: CreateOptions) => {
      const { name, redirectUri: redirectUris } = options
      const type = options.public || options.authMethod === 'none' ? 'public' : 'confidential'
      const given = await readGivenCredentials(options, context)
      const extend = await extension?.read(options, context)
      const logo = await readLogo(options, deps().clientLogos)
      const jwks = await readKeysFile(options.jwks)
      const registration = { ...settingsOf(options), logo, jwks, name, redirectUris, type, given } as const
      const { client, secret } = await registerClient(registration, authorOf(context), deps())
      await extend?.(client.clientId)
      const document = {
        ...clientDocument(client),
        ...(extend && (await extension?.describe([client.clientId], context))?.get(client.clientId)),
        ...(secret && { client_secret: secret.clientSecret, secret_id: secret.secretId })
      }
      const shown = given === undefined ? secret?.clientSecret : undefined
      const lines = env
        ? environmentLines({ ...client, clientSecret: shown }, context.environment())
        : [`Registered client ${client.name}`, `client id:     ${client.clientId}`, ...secretLines(secret, given)]
      printResult(context, json, document, lines)
    })

  addClientReadCommands(clients, context, { deps, extension })
  addClientChangeCommands(clients, context, { deps, extension })
  addClientSecretCommands(clients, context, deps)
  return clients
}

type Parts = { deps: () => ClientAdministration; extension: ClientExtension | undefined }

function addClientReadCommands(clients: Command, context: CommandDeps, { deps, extension }: Parts): void {
  addLimitOption(clients.command('list'))
    .description('list clients')
    .option('--name <text>', 'only clients with this text in their name')
    .option('--redirect-uri <text>', 'only clients with this text in a redirect URI')
    .option('--scope <name>', 'only clients that are registered for this scope')
    .option('--disabled', 'only disabled clients')
    .option('--discovered', 'only clients that no operator registered')
    .option('--json', 'print {"clients":[…]}')
    .action(async ({ json, limit, ...filter }: ListOptions) => {
      const matching = (await deps().clients.list()).filter((client) => isListed(client, filter))
      const found = upTo(limit, matching, 'clients', context)
      const ids = found.map(({ clientId }) => clientId)
      const added = await extension?.describe(ids, context)
      const values = ids.map((clientId) => extension?.column.valueOf(added?.get(clientId) ?? {}) ?? '')
      const hasColumn = values.some((value) => value !== '')
      const rows = found.map((client, index) => [
        client.clientId,
        client.name,
        client.type,
        client.disabled ? 'disabled' : 'enabled',
        ...(hasColumn ? [values[index] ?? ''] : []),
        client.redirectUris.join(' ')
      ])
      const column = hasColumn && extension ? [extension.column.header] : []
      const header = ['CLIENT ID', 'NAME', 'TYPE', 'STATE', ...column, 'REDIRECT URIS']
      const lines = rows.length === 0 ? ['There are no matching clients.'] : table(header, rows)
      const documents = found.map((client) => ({ ...clientDocument(client), ...added?.get(client.clientId) }))
      printResult(context, json, { clients: documents }, lines)
    })

  clients
    .command('show')
    .description('show one client')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const client = clientDocument(await findClient(clientId, deps()))
      const document = { ...client, ...(await extension?.describe([clientId], context))?.get(clientId) }
      printResult(context, json, document, linesOfDocument(document))
    })
}

function isListed(client: ClientRegistration, filter: ClientFilter): boolean {
  const { name = '', redirectUri = '', scope, disabled, discovered } = filter
  return (
    client.name.toLowerCase().includes(name.toLowerCase()) &&
    client.redirectUris.some((uri) => uri.includes(redirectUri)) &&
    (scope === undefined || scopesOf(client).includes(scope)) &&
    (disabled === undefined || client.disabled) &&
    (discovered === undefined || client.isDiscovered === true)
  )
}

function secretLines(secret: NewSecret | undefined, given: GivenCredentials | undefined): string[] {
  if (secret === undefined) return []
  return given === undefined
    ? [`client secret: ${secret.clientSecret}`, 'It is shown only once.']
    : [`client secret: kept; ${KEPT_SECRET_METHODS}`]
}

/** The secret is read only for a confidential client. */
async function readGivenCredentials(
  { clientId, secretStdin, public: isPublic, authMethod = 'client_secret' }: CreateOptions,
  context: CommandDeps
): Promise<GivenCredentials | undefined> {
  if (clientId === undefined && !secretStdin) return undefined
  const hasSecret = !isPublic && authMethod === 'client_secret'
  if (clientId === undefined || (hasSecret ? !secretStdin : secretStdin)) {
    const others = 'a client that is public or has keys has no secret'
    throw new CommandFailure('usage', `pass --client-id and --secret-stdin together; ${others}`)
  }
  return { clientId, clientSecret: hasSecret ? await readSecret(context.stdin, 'secret') : undefined }
}
