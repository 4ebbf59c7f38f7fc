import { randomBytes } from 'node:crypto'
import { opendir, realpath } from 'node:fs/promises'
import type { Command } from 'commander'
import { createFileStore } from '../storage/files.js'
import { type CommandContext, print } from './context.js'
import { CommandFailure } from './exit.js'
import { makeFileId } from './file-id.js'
import { type ImportCounts, importDirectory } from './import-directory.js'
import { reasonOf } from './reason-of.js'

type ImportOptions = { owner: string; exclude: readonly string[]; json?: boolean }

export function addImportCommand(program: Command, context: CommandContext): void {
  program
    .command('import')
    .description(
      'enter the files below a directory (names, sizes, types, times) for a user; again brings them up to date. ' +
        'Symbolic links are not followed, and contents are not read.'
    )
    .argument('<directory>', 'where the files lie')
    .requiredOption('--owner <user_id>', 'whose they are: the user_id that "valetkey users create" printed')
    .option('--exclude <name>', 'pass over entries of this name, wherever they stand; may be repeated', collect, [])
    .option('--json', 'print {"imported","updated","unchanged","skipped","unreadable"}')
    .action(async (directory: string, { owner, exclude, json }: ImportOptions) => {
      if (!OWNER.test(owner)) throw new CommandFailure('usage', '--owner must be a user id, without blanks')
      if (directory === '') throw new CommandFailure('usage', 'the directory has no name')
      const root = await resolveDirectory(directory)
      const counts = await importDirectory(
        { ownerId: owner, directory: root, excluded: exclude },
        {
          files: createFileStore(context.database()),
          makeFileId: () => makeFileId(new Date(), randomBytes),
          onLeftOut: ({ kind, path, reason }) => {
            clearProgress(context)
            context.say(`${kind}: ${printable(path)} (${reason})\n`)
          },
          onProgress: (progress) => showProgress(context, progress)
        }
      )
      clearProgress(context)
      print(context, json, counts, [summary(counts)])
    })
}

const OWNER = /^[!-~]{1,255}$/

const collect = (name: string, names: readonly string[]): readonly string[] => [...names, name]

/** The real path, which tells files apart at the next import: a link to the directory leads to the same files. */
async function resolveDirectory(directory: string): Promise<Buffer> {
  try {
    const root = await realpath(directory, { encoding: 'buffer' })
    await (await opendir(root)).close()
    return root
  } catch (error) {
    throw new CommandFailure('failed', `${directory} cannot be read as a directory (${reasonOf(error)})`)
  }
}

/** A name may hold anything, control sequences for the terminal included. */
function printable(path: Buffer): string {
  return path.toString('utf8').replace(/\p{Cc}/gu, '\ufffd')
}

function showProgress(context: CommandContext, counts: ImportCounts): void {
  if (context.isWatched) context.say(`\r${summary(counts)}`)
}

function clearProgress(context: CommandContext): void {
  if (context.isWatched) context.say('\r\u001b[K')
}

function summary({ imported, updated, unchanged, skipped, unreadable }: ImportCounts): string {
  const leftOut = unreadable > 0 ? `, ${unreadable} unreadable` : ''
  return `${imported} imported, ${updated} updated, ${unchanged} unchanged, ${skipped} skipped${leftOut}`
}
