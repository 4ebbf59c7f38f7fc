import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createImportRuns } from '../../storage/import-runs.js'
import type { CommandDeps } from './command-deps.js'
import { EXCLUDED_BY_DEFAULT, excludedNames } from './excluded-names.js'
import { CommandFailure } from './exit.js'
import { readOwner } from './owner.js'
import { recordFiles, summaryOf } from './record-files.js'
import { resolveDirectory, unreadable } from './resolve-directory.js'

type ImportOptions = {
  owner: string
  exclude: readonly string[]
  /** Commander's name for `--no-default-excludes`. */
  defaultExcludes: boolean
  prune?: boolean
  gone?: boolean
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

const AFTER_HELP = `
Examples:
  valetkey-files import --owner 0197f0a1-… /srv/files/alice
  valetkey-files import --owner 0197f0a1-… --exclude '*.tmp' --prune --dry-run /srv/files/alice   what would change
  valetkey-files import --owner 0197f0a1-… --prune --yes --json /srv/files/alice   from a timer

The files of a directory keep their ids when it is mounted or moved somewhere else: the directory is recognized by the names,
sizes and times of its files. --prune also works for a directory that no longer exists, and removes all its records.
`

export function addImportCommand(program: Command, context: CommandDeps): void {
  program
    .command('import')
    .description(
      'record the files below a directory (names, sizes, types, times) for a user; run it again to update, or to continue ' +
        'after an interruption. Symbolic links are not followed. Contents are read only where a name has several types.'
    )
    .argument('<directory>', 'the directory with the files')
    .requiredOption('--owner <user_id>', 'the user_id of the owner, as "valetkey users create" printed it')
    .option('--exclude <pattern>', 'skip entries whose name matches (* ? [abc]) at any depth; repeatable', collect, [])
    .option('--no-default-excludes', `do not skip ${EXCLUDED_BY_DEFAULT.join(' and ')}`)
    .option('--prune', 'then remove records of files below this directory that no longer exist or are excluded')
    .option('--gone', 'with --prune: also if no file is left; without it, perhaps a disk is not mounted')
    .option('--dry-run', 'show what would change; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"imported","updated","unchanged","skipped","unreadable"}, and "pruned" with --prune')
    .addHelpText('after', AFTER_HELP)
    .action((directory: string, options: ImportOptions) => runImport(directory, options, context))
}

const collect = (pattern: string, patterns: readonly string[]): readonly string[] => [...patterns, pattern]

async function runImport(given: string, options: ImportOptions, context: CommandDeps): Promise<void> {
  const { prune = false, dryRun = false, yes = false, gone = false } = options
  const ownerId = readOwner(options.owner)
  if (given === '') throw new CommandFailure('usage', 'the name of the directory is empty')
  if (gone && !prune) throw new CommandFailure('usage', '--gone is for --prune')
  const isExcluded = excludedNames([...options.exclude, ...(options.defaultExcludes ? EXCLUDED_BY_DEFAULT : [])])
  const confirm = yes || dryRun ? async () => true : context.confirm
  if (prune && confirm === undefined) {
    throw new CommandFailure('usage', 'confirmation required for --prune; pass --yes')
  }
  const resolved = await resolveDirectory(given)
  if (resolved.gone !== undefined && !prune) throw unreadable(given, resolved.gone.reason)
  const runs = createImportRuns(context.database())
  if (!(prune ? await runs.own(ownerId) : await runs.share(ownerId))) {
    throw new CommandFailure(
      'failed',
      'another command is changing the files of this user; try again when it has ended'
    )
  }
  const releaseLock = runs.keepLock()
  try {
    const request = { ownerId, ...resolved, isExcluded, removeAll: gone, prune, dryRun, confirm }
    const { counts, pruned } = await recordFiles(request, context, runs)
    const document = { ...counts, ...(pruned !== undefined && { pruned }), ...(dryRun && { dry_run: true }) }
    const removed = pruned === undefined ? '' : `, ${pruned} pruned`
    const note = dryRun ? ' (dry run: nothing was changed)' : ''
    printResult(context, options.json, document, [`${summaryOf(counts)}${removed}${note}`])
  } finally {
    releaseLock()
  }
}
