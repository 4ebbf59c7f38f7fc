import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import {
  createResourceServer,
  deleteResourceServer,
  findResourceServer,
  newCredentialDocument,
  type ResourceServerAdministration,
  resourceServerDocument,
  rotateResourceServerSecret
} from '../administration/administer-resource-servers.js'
import { createResourceServerStore } from '../storage/resource-servers.js'
import { requireConfirmation } from './confirm.js'
import { authorOf, type CommandContext, table } from './context.js'
import { CommandFailure } from './exit.js'
import { readSecret } from './read-secret.js'

type CreateOptions = { name: string; audience: string; clientId?: string; secretStdin?: boolean; json?: boolean }

export function addResourceServerCommands(program: Command, context: CommandContext): void {
  const servers = program.command('resource-servers').description('the APIs that may ask whether a token is good')
  const deps = (): ResourceServerAdministration => ({
    resourceServers: createResourceServerStore(context.database())
  })

  servers
    .command('create')
    .description('make a credential for the introspection endpoint; its secret is printed once')
    .requiredOption('--name <text>', 'a name for operators')
    .requiredOption(
      '--audience <url>',
      'the resource identifier whose tokens it may ask about, such as its RESOURCE_URL'
    )
    .option('--client-id <id>', 'an id made elsewhere; with the same secret and audience the command can be repeated')
    .option('--secret-stdin', 'read the secret that belongs to --client-id from standard input')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async ({ json, ...options }: CreateOptions) => {
      const { name, audience } = options
      const given = await readGivenCredential(options, context)
      const { credential, isNew } = await createResourceServer({ name, audience, given }, authorOf(context), deps())
      const secretLines = given ? [] : [`client secret: ${credential.clientSecret}`, 'It is shown this once only.']
      const headline = isNew ? `created a credential for ${credential.name}` : 'nothing to do: it exists already'
      const lines = [headline, `client id:     ${credential.clientId}`, ...secretLines]
      printResult(context, json, newCredentialDocument(credential), lines)
    })

  servers
    .command('list')
    .description('list all credentials, and when each was last used')
    .option('--json', 'print {"resource_servers":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await deps().resourceServers.listRegistrations()
      const rows = found.map((each) => [
        each.clientId,
        each.name,
        each.audience,
        each.lastUsedAt?.toISOString() ?? 'never'
      ])
      const header = ['CLIENT ID', 'NAME', 'AUDIENCE', 'LAST USED']
      const lines = rows.length === 0 ? ['There are no resource servers.'] : table(header, rows)
      printResult(context, json, { resource_servers: found.map(resourceServerDocument) }, lines)
    })

  servers
    .command('rotate-secret')
    .description('make a second credential for the same audience; the first one works until you delete it')
    .argument('<client_id>')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const credential = await rotateResourceServerSecret(clientId, authorOf(context), deps())
      printResult(context, json, newCredentialDocument(credential), [
        `client id:     ${credential.clientId}`,
        `client secret: ${credential.clientSecret}`,
        'It is shown this once only.',
        `When the API uses it: valetkey resource-servers delete ${clientId}`
      ])
    })

  servers
    .command('delete')
    .description('delete a credential; whoever has it can ask about no token any longer')
    .argument('<client_id>')
    .option('--yes', 'delete without asking')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const { name, audience } = await findResourceServer(clientId, deps())
      const all = await deps().resourceServers.listRegistrations()
      const isLast = all.filter((each) => each.audience === audience).length === 1
      const warning = isLast ? ` It is the last one for ${audience}: its API can accept no token without one.` : ''
      await requireConfirmation(`Delete the credential ${clientId} of ${name}?${warning}`, yes, context)
      const deleted = await deleteResourceServer(clientId, authorOf(context), deps())
      printResult(context, json, resourceServerDocument(deleted), [`deleted the credential ${clientId} of ${name}`])
    })
}

async function readGivenCredential(
  { clientId, secretStdin }: CreateOptions,
  context: CommandContext
): Promise<{ clientId: string; clientSecret: string } | undefined> {
  if (clientId === undefined && !secretStdin) return undefined
  if (clientId === undefined || !secretStdin) {
    throw new CommandFailure('usage', '--client-id and --secret-stdin go together')
  }
  return { clientId, clientSecret: await readSecret(context.stdin, 'secret') }
}
