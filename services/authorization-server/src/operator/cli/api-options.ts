import type { Command } from 'commander'
import type { CommandDeps } from './command-deps.js'

/** Further options of `resource-servers create` and `resource-servers update`. */
export type ApiOptions = {
  /** One of them, for the message that none is given: `--action`. */
  name: string
  addTo: (command: Command) => Command
  /**
   * @returns how to carry them out when the credential exists; undefined if none is given
   * @throws {CommandFailure} or {AdministrationError} if they are wrong
   */
  read: (options: object) => ((clientId: string, context: CommandDeps) => Promise<void>) | undefined
}
