import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'

/** Continues only after a confirmation at the terminal or with `--yes`. */
export async function requireConfirmation(
  question: string,
  yes: boolean | undefined,
  { confirm }: CommandDeps
): Promise<void> {
  if (yes) return
  if (confirm === undefined) {
    throw new CommandFailure('usage', 'confirmation required; pass --yes')
  }
  if (!(await confirm(question))) throw new CommandFailure('failed', 'cancelled; nothing was changed')
}
