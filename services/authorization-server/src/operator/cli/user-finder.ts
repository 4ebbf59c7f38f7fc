import type { User } from '../../storage/postgres/users.js'
import type { CommandDeps } from './command-deps.js'

/** How `users disable` finds the user of an argument or of options. */
export type UserFinder = {
  /** Flags and descriptions; without these options, the argument is required. */
  options: readonly (readonly [flags: string, description: string])[]
  /** @throws {CommandFailure} unless the argument or the options name a user, and not both */
  find: (
    argument: string | undefined,
    options: Readonly<Record<string, string | undefined>>,
    context: CommandDeps
  ) => Promise<User>
}
