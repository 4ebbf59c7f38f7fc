import { FEATURES } from '../../services/authorization-server/src/features.js'
import { buildProgram as buildValetkey } from '../../services/authorization-server/src/operator/cli/program.js'
import { buildProgram as buildValetkeyFiles } from '../../services/resource-server/src/operator/cli/program.js'

const context = {
  environment: () => ({}),
  databaseUrl: () => '',
  database: () => {
    throw new Error('no command is run here')
  },
  stdin: process.stdin,
  userName: () => '',
  out() {},
  say() {},
  isTerminal: false,
  columns: () => 80,
  confirm: undefined,
  untilInterrupted: () => new AbortController().signal
}
export const programs = { valetkey: buildValetkey(context, FEATURES), 'valetkey-files': buildValetkeyFiles(context) }
export type Command = (typeof programs)['valetkey']

/** Every command without sub-commands, with its parent commands. */
export function leavesOf(command: Command, prefix: string): string[] {
  if (command.commands.length === 0) return [prefix]
  return command.commands.flatMap((one) => leavesOf(one, `${prefix} ${one.name()}`))
}
