import type { Command } from 'commander'
import type { CommandDeps } from './command-deps.js'

/** What a feature adds to `clients create`, `clients update`, `clients show` and `clients list`. */
export type ClientExtension = {
  addTo: (command: Command, use: 'create' | 'update') => Command
  /**
   * Reads the options before anything is changed.
   * @returns how to carry them out when the client exists; undefined if none is given
   * @throws {CommandFailure} or {AdministrationError} if they are wrong
   */
  read: (options: object, context: CommandDeps) => Promise<((clientId: string) => Promise<void>) | undefined>
  /** Further members of the documents of clients, by client id. */
  describe: (clientIds: readonly string[], context: CommandDeps) => Promise<ReadonlyMap<string, object>>
  /** A column of the list, if one of these members has a value for it. */
  column: { header: string; valueOf: (members: object) => string }
}
