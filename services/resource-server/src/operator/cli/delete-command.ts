import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createImportRoots } from '../../storage/import-roots.js'
import { createImportRuns } from '../../storage/import-runs.js'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'
import { readOwner } from './owner.js'

type DeleteOptions = { owner: string; yes?: boolean; dryRun?: boolean; json?: boolean }

export function addDeleteCommand(program: Command, context: CommandDeps): void {
  program
    .command('delete')
    .description('remove all file records of a user; the files themselves are not touched')
    .requiredOption('--owner <user_id>', 'the user_id of the owner, as "valetkey users list" shows it')
    .option('--dry-run', 'show how many would be removed; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"deleted"}')
    .action((options: DeleteOptions) => runDelete(options, context))
}

async function runDelete(options: DeleteOptions, context: CommandDeps): Promise<void> {
  const { yes = false, dryRun = false, json } = options
  const ownerId = readOwner(options.owner)
  const confirm = yes || dryRun ? async () => true : context.confirm
  if (confirm === undefined) {
    throw new CommandFailure('usage', 'confirmation required; pass --yes')
  }
  const runs = createImportRuns(context.database())
  const count = await runs.countAll(ownerId)
  if (dryRun) {
    printResult(context, json, { deleted: count, dry_run: true }, [`${count} files would be removed`])
    return
  }
  if (count > 0 && !(await confirm(`Remove all ${count} files of the user ${ownerId}?`))) {
    throw new CommandFailure('failed', 'cancelled; nothing was removed')
  }
  if (!(await runs.own(ownerId))) {
    throw new CommandFailure(
      'failed',
      'another command is changing the files of this user; try again when it has ended'
    )
  }
  const stop = context.untilInterrupted()
  let deleted = 0
  // Files are deleted in batches, so that row locks are short and an interruption keeps the deletions already made.
  for (let isMore = true; isMore && !stop.aborted; ) {
    const batch = await runs.deleteSome(ownerId)
    deleted += batch.deleted
    isMore = batch.isMore
  }
  if (stop.aborted) {
    throw new CommandFailure(
      'interrupted',
      `interrupted after ${deleted} were removed; run the same command again to continue`
    )
  }
  await createImportRoots(context.database()).forget(ownerId)
  printResult(context, json, { deleted }, [`Removed ${deleted} files`])
}
