import type { CommandDeps } from './command-deps.js'

/** How `users create` invites a user without a password. */
export type UserInvitation = {
  /** What the command does without a password, for the help. */
  description: string
  /** The members that `--json` prints for it, for the help. */
  members: string
  /** Flags and descriptions of the options that it adds. */
  options: readonly (readonly [flags: string, description: string])[]
  /**
   * Runs before the user is created.
   * @throws if the user could not be invited
   * @returns a function that invites the user and prints the result
   */
  prepare: (
    options: Readonly<Record<string, string | undefined>>,
    context: CommandDeps
  ) => (userId: string, json: boolean | undefined) => Promise<void>
}
