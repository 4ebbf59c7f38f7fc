import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { decodeText, printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../operator/cli/confirm.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { readSecret } from '../../operator/cli/read-secret.js'
import { registryAdministrationOf } from '../../operator/cli/registry-administration.js'
import { KEPT_SECRET_METHODS } from '../../operator/use-cases/kept-secret.js'
import { makeChange, readNewSecrets } from './apply-registry.js'
import { exportRegistry } from './export-registry.js'
import { collectMistakes } from './mistakes.js'
import { planChanges } from './plan-changes.js'
import type { RegistryChange } from './registry-change.js'
import { readRegistryDocument } from './registry-document.js'

type ApplyOptions = {
  file: string
  secretsDir?: string
  prune?: boolean
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

const MAX_BYTES = 8 * 1024 * 1024

/** `apply` and `export`: clients, scopes and resource servers as one file. */
export function addRegistryCommands(program: Command, context: CommandDeps): void {
  program
    .command('apply')
    .description('create and change clients, scopes and resource servers until they are as in a file')
    .requiredOption('-f, --file <file>', 'YAML or JSON as `valetkey export` prints it; "-" for standard input')
    .option(
      '--secrets-dir <directory>',
      `holds the secret of each new client and resource server in a file <client_id>; ${KEPT_SECRET_METHODS}`
    )
    .option('--prune', 'delete what the file does not contain, of each kind that it lists; built-in scopes stay')
    .option('--dry-run', 'print the changes and make none')
    .option('--yes', 'do not ask for confirmation before deletions')
    .option('--json', 'print {"changes":[…]}')
    .action((options: ApplyOptions) => apply(options, context))

  program
    .command('export')
    .description('print all clients, scopes and resource servers for `valetkey apply`; without secrets')
    .option('--json', 'print {"resource_servers":[…],"scopes":[…],"clients":[…]} instead of YAML')
    .action(async ({ json }: { json?: boolean }) => {
      const { stringify } = await import('yaml')
      const document = await exportRegistry(registryAdministrationOf(context))
      printResult(context, json, document, [stringify(document).trimEnd()])
    })
}

async function apply(options: ApplyOptions, context: CommandDeps): Promise<void> {
  const { prune = false, dryRun = false, yes, json } = options
  // Only here, so that other commands start without a parser of YAML.
  const { parseRegistryFile } = await import('./registry-file.js')
  const document = readRegistryDocument(parseRegistryFile(await readText(options.file, context), options.file))
  const deps = registryAdministrationOf(context)
  const mistakes = collectMistakes()
  const changes = await planChanges(document, prune, mistakes, deps)
  const secrets = await readNewSecrets(changes, (clientId) => readSecretOf(clientId, options.secretsDir), mistakes)
  mistakes.throwIfAny()
  for (const { place, reason } of mistakes.skipped) context.say(`skipped ${place}: ${reason}\n`)
  const deletions = changes.filter(({ action }) => action === 'delete')
  if (deletions.length > 0 && !dryRun) {
    await requireConfirmation(`Delete ${deletions.map(label).join(', ')}?`, yes, context)
  }
  if (dryRun || changes.length === 0) {
    const lines = changes.length === 0 ? ['Nothing to change'] : changes.map((change) => describe(change, dryRun))
    printResult(context, json, resultDocument(changes, dryRun), lines)
  } else {
    await makeChanges(changes, (change) => makeChange(change, secrets, authorOf(context), deps), json, context)
  }
}

/** Prints each change when it is made, so that after a failure the operator knows which were made. */
async function makeChanges(
  changes: readonly RegistryChange[],
  make: (change: RegistryChange) => Promise<void>,
  json: boolean | undefined,
  context: CommandDeps
): Promise<void> {
  const made: RegistryChange[] = []
  try {
    for (const change of changes) {
      await make(change)
      made.push(change)
      if (!json) context.out(`${describe(change, false)}\n`)
    }
  } finally {
    // One document, so at the end.
    if (json) printResult(context, json, resultDocument(made, false), [])
  }
}

function resultDocument(changes: readonly RegistryChange[], isDryRun: boolean) {
  const documents = changes.map(({ kind, id, action, ...rest }) => ({
    kind,
    id,
    action,
    ...('changes' in rest && { changes: rest.changes })
  }))
  return { changes: documents, dry_run: isDryRun }
}

const DONE = { create: 'Created', update: 'Updated', delete: 'Deleted' } as const

function describe(change: RegistryChange, isDryRun: boolean): string {
  const verb = isDryRun ? `Would ${change.action}` : DONE[change.action]
  const members = change.action === 'update' ? `: ${Object.keys(change.changes).join(', ')}` : ''
  return `${verb} ${label(change)}${members}`
}

/** A deletion cannot be undone, so it also shows the name. */
function label(change: RegistryChange): string {
  const name = change.action === 'delete' && change.name !== undefined ? ` (${change.name})` : ''
  return `${change.kind} ${change.id}${name}`
}

async function readText(file: string, context: CommandDeps): Promise<string> {
  if (file === '-') return readSecret(context.stdin, 'document', MAX_BYTES)
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new CommandFailure('usage', `the file ${file} cannot be read`)
  if (found.size > MAX_BYTES) throw new CommandFailure('usage', `the file ${file} is larger than ${MAX_BYTES} bytes`)
  return decoded(await readFile(file), file)
}

function decoded(bytes: Uint8Array, file: string): string {
  const result = decodeText(bytes)
  if ('problem' in result) throw new CommandFailure('usage', `the file ${file} ${result.problem}`)
  return result.text
}

/** @param clientId a valid one, which contains no slash, so the file is inside the directory. Drops one trailing line break. */
async function readSecretOf(clientId: string, directory: string | undefined): Promise<string | undefined> {
  if (directory === undefined) return undefined
  const file = path.join(directory, clientId)
  const bytes = await readFile(file).catch(() => undefined)
  return bytes && decoded(bytes, file).replace(/\r?\n$/, '')
}
