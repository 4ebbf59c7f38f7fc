import type { Command } from 'commander'

/** Groups of commands to which features add their own. */
export type CommandGroups = {
  program: Command
  clients: Command
  resourceServers: Command
  tokens: Command
  users: Command
}
