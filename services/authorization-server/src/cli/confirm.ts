import type { CommandContext } from './context.js'
import { CommandFailure } from './exit.js'

/** Goes on only if whoever gave the command means it, or said so beforehand with `--yes`. */
export async function requireConfirmation(
  question: string,
  yes: boolean | undefined,
  { confirm }: CommandContext
): Promise<void> {
  if (yes) return
  if (confirm === undefined) {
    throw new CommandFailure('usage', 'it asks before it does this; where nobody can answer, say --yes')
  }
  if (!(await confirm(question))) throw new CommandFailure('failed', 'nothing was changed')
}
