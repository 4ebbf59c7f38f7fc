import { randomBytes } from 'node:crypto'
import { opendir, realpath } from 'node:fs/promises'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { ImportedFile } from '../../storage/file-record.js'
import { createFileStore, type FileStore } from '../../storage/files.js'
import { createImportRuns, type ImportRuns } from '../../storage/import-runs.js'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'
import { makeFileId } from './file-id.js'
import { type ImportCounts, importDirectory } from './import-directory.js'
import { readOwner } from './owner.js'
import { printable } from './printable.js'
import { showProgress } from './progress-bar.js'
import { pruneDirectory } from './prune-directory.js'
import { reasonOf } from './reason-of.js'

type ImportOptions = {
  owner: string
  exclude: readonly string[]
  prune?: boolean
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

const AFTER_HELP = `
Examples:
  valetkey-files import --owner 0197f0a1-… /srv/files/alice
  valetkey-files import --owner 0197f0a1-… --prune --dry-run /srv/files/alice   what would change
  valetkey-files import --owner 0197f0a1-… --prune --yes --json /srv/files/alice   from a timer
`

export function addImportCommand(program: Command, context: CommandDeps): void {
  program
    .command('import')
    .description(
      'record the files below a directory (names, sizes, types, times) for a user; run it again to update, or to continue ' +
        'after an interruption. Symbolic links are not followed, and contents are not read.'
    )
    .argument('<directory>', 'the directory with the files')
    .requiredOption('--owner <user_id>', 'the user_id of the owner, as "valetkey users create" printed it')
    .option('--exclude <name>', 'skip entries with this name at any depth; repeatable', collect, [])
    .option('--prune', 'then remove records of files below this directory that no longer exist or are excluded')
    .option('--dry-run', 'show what would change; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"imported","updated","unchanged","skipped","unreadable"}, and "pruned" with --prune')
    .addHelpText('after', AFTER_HELP)
    .action((directory: string, options: ImportOptions) => runImport(directory, options, context))
}

const collect = (name: string, names: readonly string[]): readonly string[] => [...names, name]

async function runImport(directory: string, options: ImportOptions, context: CommandDeps): Promise<void> {
  const { prune = false, dryRun = false, yes = false } = options
  const ownerId = readOwner(options.owner)
  if (directory === '') throw new CommandFailure('usage', 'the name of the directory is empty')
  const confirm = yes || dryRun ? async () => true : context.confirm
  if (prune && confirm === undefined) {
    throw new CommandFailure('usage', 'confirmation required for --prune; pass --yes')
  }
  const root = await resolveDirectory(directory)
  const database = context.database()
  const [files, runs] = [createFileStore(database), createImportRuns(database)]
  if (!(prune ? await runs.own(ownerId) : await runs.share(ownerId))) {
    throw new CommandFailure(
      'failed',
      'another command is changing the files of this user; try again when it has ended'
    )
  }
  const releaseLock = runs.keepLock()
  try {
    await importLocked({ ...options, ownerId, root, confirm }, context, files, runs)
  } finally {
    releaseLock()
  }
}

type LockedImport = ImportOptions & { ownerId: string; root: Buffer; confirm: CommandDeps['confirm'] }

async function importLocked(
  { ownerId, root, confirm, exclude, prune = false, dryRun = false, json }: LockedImport,
  context: CommandDeps,
  files: FileStore,
  runs: ImportRuns
): Promise<void> {
  if (prune) await runs.forgetSightings(ownerId)
  const stop = context.untilInterrupted()
  const bar = showProgress(context, root, exclude)
  const unread: Buffer[] = []
  async function save(batch: readonly ImportedFile[]) {
    const saved = dryRun ? await files.compare(ownerId, batch) : await files.save(ownerId, batch)
    if (prune)
      await runs.noteSightings(
        ownerId,
        batch.map(({ sourceHash }) => sourceHash)
      )
    return saved
  }
  const counts = await importDirectory(
    { directory: root, excluded: exclude },
    {
      save,
      makeFileId: () => makeFileId(new Date(), randomBytes),
      onSkipped({ kind, path, reason }) {
        if (kind === 'unreadable') unread.push(path)
        bar.clear()
        context.say(`${kind}: ${printable(path)} (${reason})\n`)
      },
      onProgress: bar.advance,
      stop
    }
    // Also after a failure: otherwise the line remains, and the process cannot end before the count does.
  ).finally(bar.stop)
  if (stop.aborted) {
    throw new CommandFailure(
      'interrupted',
      `interrupted after ${summary(counts)}; run the same command again to continue`
    )
  }
  const pruned =
    prune && confirm !== undefined
      ? await pruneDirectory({ ownerId, root, unread, found: countFound(counts), dryRun, confirm, stop }, runs)
      : undefined
  const document = { ...counts, ...(pruned !== undefined && { pruned }), ...(dryRun && { dry_run: true }) }
  const removed = pruned === undefined ? '' : `, ${pruned} pruned`
  printResult(context, json, document, [
    `${summary(counts)}${removed}${dryRun ? ' (dry run: nothing was changed)' : ''}`
  ])
}

const countFound = ({ imported, updated, unchanged }: ImportCounts): number => imported + updated + unchanged

/** Resolves links, because the next import identifies files by path: a link to the directory must give the same paths. */
async function resolveDirectory(directory: string): Promise<Buffer> {
  try {
    const root = await realpath(directory, { encoding: 'buffer' })
    await (await opendir(root)).close()
    return root
  } catch (error) {
    throw new CommandFailure('failed', `${directory} cannot be read as a directory (${reasonOf(error)})`)
  }
}

function summary({ imported, updated, unchanged, skipped, unreadable }: ImportCounts): string {
  const failed = unreadable > 0 ? `, ${unreadable} unreadable` : ''
  return `${imported} imported, ${updated} updated, ${unchanged} unchanged, ${skipped} skipped${failed}`
}
