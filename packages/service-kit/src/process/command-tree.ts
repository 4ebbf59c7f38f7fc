/** A command with its subcommands, as commander describes it. */
type CommandTree = {
  commands: readonly CommandTree[]
  options: readonly { mandatory: boolean; flags: string; attributeName(): string }[]
  getOptionValue(name: string): unknown
  help(context?: { error: boolean }): never
  error(message: string, options: { code: string }): never
}

/**
 * Changes two answers of commander, for a program and all of its commands. A group of commands without a command prints its help, which
 * is no error: to stdout, with exit code 0. All options that are missing are reported at once.
 */
export function adjustCommands(command: CommandTree): void {
  const help = command.help.bind(command)
  Object.assign(command, {
    help: () => help(),
    // Called by commander for the first option that is missing.
    missingMandatoryOptionValue() {
      const missing = command.options.filter(
        (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined
      )
      const flags = missing.map((option) => option.flags).join(', ')
      command.error(`error: pass ${flags}`, { code: 'commander.missingMandatoryOptionValue' })
    }
  })
  for (const child of command.commands) adjustCommands(child)
}
