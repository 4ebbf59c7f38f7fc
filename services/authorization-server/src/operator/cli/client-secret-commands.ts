import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { ClientAdministration } from '../use-cases/administer-client.js'
import {
  clientSecretDocument,
  deleteClientSecret,
  listClientSecrets,
  listLiveSecrets,
  rotateClientSecret,
  secretOfClientDocument
} from '../use-cases/administer-client-secrets.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { readDuration } from './duration.js'
import { CommandFailure } from './exit.js'
import { addLimitOption } from './limit.js'
import { table } from './table.js'

type RotateOptions = { keepOldFor?: string; now?: boolean; yes?: boolean; json?: boolean }

const MOST_LISTED = 1_000

export function addClientSecretCommands(
  clients: Command,
  context: CommandDeps,
  deps: () => ClientAdministration
): void {
  addRotateCommand(clients, context, deps)

  addLimitOption(clients.command('secrets'), MOST_LISTED)
    .description('list the ids of a client’s secrets, or the valid ones of all clients, and when each was last used')
    .argument('[client_id]')
    .option('--json', 'print {"secrets":[…]}')
    .action(async (clientId: string | undefined, { limit, json }: { limit: number; json?: boolean }) => {
      if (clientId === undefined) return printAllSecrets(limit, json, context, deps())
      const documents = (await listClientSecrets(clientId, deps())).map((secret) => clientSecretDocument(secret))
      const rows = documents.map((secret) => [
        secret.secret_id,
        secret.live ? 'live' : 'ended',
        secret.created_at,
        secret.expires_at ?? 'never',
        secret.last_used_at ?? 'never'
      ])
      const header = ['SECRET ID', 'STATE', 'CREATED', 'ENDS', 'LAST USED']
      const lines = rows.length === 0 ? ['There are no secrets.'] : table(header, rows)
      printResult(context, json, { secrets: documents }, lines)
    })

  clients
    .command('delete-secret')
    .description('end one secret immediately; refused for the only live one')
    .argument('<client_id>')
    .argument('<secret_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"secret_id",…}')
    .action(async (clientId: string, secretId: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      await requireConfirmation(`End secret ${secretId} of client ${clientId}?`, yes, context)
      const secret = await deleteClientSecret({ clientId, secretId }, authorOf(context), deps())
      const document = { ...clientSecretDocument(secret), live: false }
      printResult(context, json, document, [`Ended secret ${secretId}`])
      const left = await listClientSecrets(clientId, deps())
      const end = left.every(({ expiresAt }) => expiresAt !== undefined) && left.at(-1)?.expiresAt
      if (end) context.say(`The remaining secret ends at ${end.toISOString()}: create another one before then.\n`)
    })
}

async function printAllSecrets(
  limit: number,
  json: boolean | undefined,
  context: CommandDeps,
  deps: ClientAdministration
): Promise<void> {
  const { entries, next } = await listLiveSecrets({ limit }, deps)
  const documents = entries.map(secretOfClientDocument)
  const rows = documents.map((secret) => [
    secret.client_id,
    secret.client_name,
    secret.secret_id,
    secret.created_at,
    secret.expires_at ?? 'never',
    secret.last_used_at ?? 'never'
  ])
  const header = ['CLIENT ID', 'CLIENT', 'SECRET ID', 'CREATED', 'ENDS', 'LAST USED']
  const lines = rows.length === 0 ? ['There are no secrets.'] : table(header, rows)
  printResult(context, json, { secrets: documents }, lines)
  if (next !== undefined) context.say(`There are more than ${limit} secrets: name a client, or raise --limit.\n`)
}

function addRotateCommand(clients: Command, context: CommandDeps, deps: () => ClientAdministration): void {
  clients
    .command('rotate-secret')
    .description('create a new secret; the old one stays valid for a while')
    .argument('<client_id>')
    .option('--keep-old-for <duration>', 'how long the old secret stays valid: 3600, 90m, 12h, 7d (default), up to 90d')
    .option('--now', 'end all old secrets immediately')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"client_id","client_secret",…}')
    .action(async (clientId: string, { keepOldFor: given, now, yes, json }: RotateOptions) => {
      const keepOldFor = readKeepOldFor(given, now)
      if (keepOldFor === 0) {
        await requireConfirmation(`End all current secrets of client ${clientId}?`, yes, context)
      }
      const { clientSecret, secretId, old } = await rotateClientSecret(
        { clientId, keepOldFor },
        authorOf(context),
        deps()
      )
      const document = {
        client_id: clientId,
        client_secret: clientSecret,
        secret_id: secretId,
        old: old.map((secret) => clientSecretDocument(secret))
      }
      const oldLines = old.map((each) => `old secret:    ${each.secretId} ends at ${each.expiresAt?.toISOString()}`)
      printResult(context, json, document, [
        `client secret: ${clientSecret}`,
        'It is shown only once.',
        `secret id:     ${secretId}`,
        ...oldLines
      ])
    })
}

function readKeepOldFor(given: string | undefined, now: boolean | undefined): number | undefined {
  if (given !== undefined && now) throw new CommandFailure('usage', 'pass --keep-old-for or --now, not both')
  if (now) return 0
  return given === undefined ? undefined : readDuration(given, '--keep-old-for')
}
