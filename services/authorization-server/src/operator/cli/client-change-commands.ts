import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { SETTING_NAMES } from '../../storage/client-settings-table.js'
import {
  type ClientAdministration,
  deleteClient,
  disableClient,
  enableClient,
  findClient,
  updateClient
} from '../use-cases/administer-client.js'
import { clientDocument } from '../use-cases/client-document.js'
import type { ClientExtension } from './client-extension.js'
import { addSettingOptions, type ClientOptions, readLogo, settingsOf } from './client-options.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { readKeysFile } from './read-keys.js'

const NOT_VERIFIED =
  'The client is not verified any more, because its name, publisher or home page changed. Pass --verified after you checked them.'

type Options = { yes?: boolean; json?: boolean }

export function addClientChangeCommands(
  clients: Command,
  context: CommandDeps,
  { deps, extension }: { deps: () => ClientAdministration; extension: ClientExtension | undefined }
): void {
  const update = clients
    .command('update')
    .description('change a client; each option replaces that setting, and tokens lose what is removed')
    .argument('<client_id>')
  addSettingOptions(update, 'update', SETTING_NAMES)
  extension?.addTo(update, 'update')
  update
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json, ...options }: ClientOptions & { json?: boolean }) => {
      const found = await findClient(clientId, deps())
      const logo = await readLogo(options, deps().clientLogos)
      const settings = { ...settingsOf(options), logo, jwks: await readKeysFile(options.jwks) }
      const extend = await extension?.read(options, context)
      // An option of a feature is enough.
      const isUnchanged = extend !== undefined && Object.values(settings).every((value) => value === undefined)
      const { client, isVerificationEnded } = isUnchanged
        ? { client: found, isVerificationEnded: false }
        : await updateClient({ clientId, settings }, authorOf(context), deps())
      await extend?.(clientId)
      if (isVerificationEnded) context.say(`${NOT_VERIFIED}\n`)
      const added = (await extension?.describe([clientId], context))?.get(clientId)
      printResult(context, json, { ...clientDocument(client), ...added }, [`Updated client ${client.name}`])
    })

  addStateCommands(clients, context, deps)
}

/** Adds the commands that disable, enable and delete a client. */
function addStateCommands(clients: Command, context: CommandDeps, deps: () => ClientAdministration): void {
  clients
    .command('disable')
    .description('disable a client and revoke all its tokens permanently')
    .argument('<client_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: Options) => {
      const { name } = await findClient(clientId, deps())
      await requireConfirmation(`Disable client ${name} (${clientId}) and revoke all its tokens?`, yes, context)
      const client = await disableClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`Disabled client ${name}; its tokens are revoked`])
    })

  clients
    .command('enable')
    .description('enable a disabled client; revoked tokens stay revoked')
    .argument('<client_id>')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { json }: Options) => {
      const client = await enableClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`Enabled client ${client.name}`])
    })

  clients
    .command('delete')
    .description('delete a client with its secrets and consents, and revoke all its tokens')
    .argument('<client_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: Options) => {
      const { name } = await findClient(clientId, deps())
      await requireConfirmation(`Delete client ${name} (${clientId}) and revoke all its tokens?`, yes, context)
      const client = await deleteClient(clientId, authorOf(context), deps())
      printResult(context, json, clientDocument(client), [`Deleted client ${name}; its tokens are revoked`])
    })
}
