import { printResult } from '@valetkey/service-kit'
import { type Command, Option } from 'commander'
import { createResourceServerStore, type TitleIn } from '../../storage/postgres/resource-servers.js'
import {
  createResourceServer,
  DPOP_OF_APIS,
  deleteResourceServer,
  findResourceServer,
  newCredentialDocument,
  type ResourceServerAdministration,
  resourceServerDocument,
  rotateResourceServerSecret,
  updateApi
} from '../use-cases/administer-resource-servers.js'
import { KEPT_SECRET_METHODS } from '../use-cases/kept-secret.js'
import type { ApiOptions } from './api-options.js'
import { collect } from './client-options.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { CommandFailure } from './exit.js'
import { addLimitOption, upTo } from './limit.js'
import { readSecret } from './read-secret.js'
import { table } from './table.js'
import { addTitleInOption, readTranslation, without } from './translation-options.js'

type CreateOptions = {
  name: string
  audience: string
  title?: string
  titleIn: readonly string[]
  dpop?: string
  clientId?: string
  secretStdin?: boolean
  json?: boolean
}

export function addResourceServerCommands(
  program: Command,
  context: CommandDeps,
  features: readonly { apiOptions?: ApiOptions }[]
): Command {
  const servers = program.command('resource-servers').description('APIs that may introspect tokens')
  const deps = (): ResourceServerAdministration => ({
    resourceServers: createResourceServerStore(context.database())
  })

  const apiOptions = features.find((feature) => feature.apiOptions !== undefined)?.apiOptions
  addCreateCommand(servers, context, { deps, apiOptions })
  addUpdateCommand(servers, context, { deps, apiOptions })

  addLimitOption(servers.command('list'))
    .description('list all credentials and when each was last used')
    .option('--json', 'print {"resource_servers":[…]}')
    .action(async ({ json, limit }: { json?: boolean; limit?: number }) => {
      const found = upTo(limit, await deps().resourceServers.listRegistrations(), 'resource servers', context)
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
    .description('create a second credential for the same audience; the first one works until you delete it')
    .argument('<client_id>')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const credential = await rotateResourceServerSecret(clientId, authorOf(context), deps())
      printResult(context, json, newCredentialDocument(credential), [
        `client id:     ${credential.clientId}`,
        `client secret: ${credential.clientSecret}`,
        'It is shown only once.',
        `When the API uses the new credential: valetkey resource-servers delete ${clientId}`
      ])
    })

  servers
    .command('delete')
    .description('delete a credential; after the last one of an API, users must allow its scopes again')
    .argument('<client_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"client_id",…}')
    .action(async (clientId: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const { name, audience } = await findResourceServer(clientId, deps())
      const all = await deps().resourceServers.listRegistrations()
      const isLast = all.filter((each) => each.audience === audience).length === 1
      const warning = isLast ? ` It is the last one for ${audience}: without it, the API refuses all tokens.` : ''
      await requireConfirmation(`Delete credential ${clientId} of ${name}?${warning}`, yes, context)
      const deleted = await deleteResourceServer(clientId, authorOf(context), deps())
      printResult(context, json, resourceServerDocument(deleted), [`Deleted credential ${clientId} of ${name}`])
    })
  return servers
}

type Parts = { deps: () => ResourceServerAdministration; apiOptions: ApiOptions | undefined }

function addCreateCommand(servers: Command, context: CommandDeps, { deps, apiOptions }: Parts): void {
  const command = servers
    .command('create')
    .description('create a credential for the introspection endpoint; its secret is printed once')
    .requiredOption('--name <text>', 'a name for operators')
    .requiredOption(
      '--audience <url>',
      'the API’s resource identifier, such as its RESOURCE_URL; it may introspect tokens for this audience only'
    )
    .option('--title <text>', 'the name of the API on pages for users; without it, they show the host of the audience')
  addTitleInOption(command)
    .addOption(dpopOption())
    .option('--client-id <id>', 'use this id; with the same secret and audience the command is safe to repeat')
    .option('--secret-stdin', 'read the secret for --client-id from standard input')
  apiOptions?.addTo(command)
  command
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async ({ json, ...options }: CreateOptions) => {
      const { name, audience, title, dpop } = options
      const titleIn = options.titleIn.length === 0 ? undefined : readTitles(options.titleIn)
      const carryOut = apiOptions?.read(options)
      const given = await readGivenCredential(options, context)
      const { credential, isNew } = await createResourceServer(
        { name, audience, title, titleIn, dpop, given },
        authorOf(context),
        deps()
      )
      const keptLines = isNew ? [`client secret: kept; ${KEPT_SECRET_METHODS}`] : []
      const secretLines = given ? keptLines : [`client secret: ${credential.clientSecret}`, 'It is shown only once.']
      const headline = isNew
        ? `Created a credential for ${credential.name}`
        : 'Nothing to do: the credential exists already'
      const lines = [headline, `client id:     ${credential.clientId}`, ...secretLines]
      printResult(context, json, newCredentialDocument(credential), lines)
      // Afterwards: the secret is shown also if this fails, and the command is safe to repeat as `update`.
      await carryOut?.(credential.clientId, context)
    })
}

function addUpdateCommand(servers: Command, context: CommandDeps, { deps, apiOptions }: Parts): void {
  const command = servers
    .command('update')
    .description('change an API, for all of its credentials')
    .argument('<client_id>')
    .option('--title <text>', 'the name of the API on pages for users; "" for none, in no language')
  addTitleInOption(command)
    .option('--drop-language <language>', 'delete the title in this language; repeatable', collect, [])
    .addOption(dpopOption())
  apiOptions?.addTo(command)
  type Given = TitleOptions & { dpop?: string; json?: boolean }
  command.option('--json', 'print {"client_id",…}').action(async (clientId: string, { json, ...given }: Given) => {
    const { title, dpop } = given
    const titleIn = readTitleChange(given)
    const carryOut = apiOptions?.read(given)
    if ([title, titleIn, dpop, carryOut].every((each) => each === undefined)) {
      const names = ['--title', '--title-in', '--drop-language', '--dpop', ...(apiOptions ? [apiOptions.name] : [])]
      throw new CommandFailure('usage', `pass ${names.join(' or ')}`)
    }
    const updated = await updateApi({ clientId, title, titleIn, dpop }, authorOf(context), deps())
    await carryOut?.(clientId, context)
    printResult(context, json, resourceServerDocument(updated), [`Updated ${updated.audience}`])
  })
}

type TitleOptions = { title?: string; titleIn: readonly string[]; dropLanguage: readonly string[] }

/** @returns undefined if no option changes titles in other languages */
function readTitleChange({ titleIn, dropLanguage }: TitleOptions): ((present: TitleIn) => TitleIn) | undefined {
  if (titleIn.length + dropLanguage.length === 0) return undefined
  const titles = readTitles(titleIn)
  return (present) => ({ ...without(present, dropLanguage), ...titles })
}

const readTitles = (given: readonly string[]): TitleIn => Object.fromEntries(given.map(readTranslation))

/** The choices make a mistake a usage error. */
function dpopOption(): Option {
  const help =
    'bind access tokens to keys of clients that send a DPoP proof, or require proofs; the API must check proofs'
  return new Option('--dpop <mode>', help).choices(DPOP_OF_APIS)
}

async function readGivenCredential(
  { clientId, secretStdin }: CreateOptions,
  context: CommandDeps
): Promise<{ clientId: string; clientSecret: string } | undefined> {
  if (clientId === undefined && !secretStdin) return undefined
  if (clientId === undefined || !secretStdin) {
    throw new CommandFailure('usage', 'pass --client-id and --secret-stdin together')
  }
  return { clientId, clientSecret: await readSecret(context.stdin, 'secret') }
}
