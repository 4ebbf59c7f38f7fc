import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { addMigrateCommand, adjustCommands, completionScript, readPackageVersion, SHELLS } from '@valetkey/service-kit'
import { Argument, Command } from 'commander'
import type { CommandDeps } from './command-deps.js'
import { addDeleteCommand } from './delete-command.js'
import { addDoctorCommand } from './doctor-command.js'
import { addImportCommand } from './import-command.js'

const AFTER_HELP = `
Settings:
  RESOURCE_DATABASE_URL (or RESOURCE_DATABASE_URL_FILE)  the Postgres database of the resource server;
                                                         doctor reads all settings of the service
  RESOURCE_DATABASE_DIRECT_URL                           the same database without the pooler, if that URL leads to one

Output:
  Results go to stdout, everything else to stderr. With --json, stdout is one JSON document.

Exit codes:
  0  success; for an import also if some entries could not be read (each is reported)
  1  failure, for example the database or the directory cannot be read, or doctor found a fatal problem
  2  wrong usage or settings, or confirmation required (see --yes)
  130  interrupted; saved records stay, and the same command continues
`

const PACKAGE_FILE = new URL('../../../package.json', import.meta.url)
const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url))

/** The command line of the resource server. It needs the database only. */
export function buildProgram(context: CommandDeps): Command {
  const program = new Command('valetkey-files')
    .description('Manages the file records of a Valetkey resource server.')
    .version(readPackageVersion(PACKAGE_FILE))
    .addHelpText('after', AFTER_HELP)
    // Commander removes the colours where the output is no terminal, or NO_COLOR is set.
    .configureHelp({ styleTitle: (title) => styleText('bold', title) })
    .configureOutput({ writeOut: context.out, writeErr: context.say })
    .exitOverride()
    .showHelpAfterError('(see --help)')
  addMigrateCommand(program, MIGRATIONS, context)
  addDoctorCommand(program, context)
  addImportCommand(program, context)
  addDeleteCommand(program, context)
  addCompletionCommand(program, context)
  adjustCommands(program)
  return program
}

function addCompletionCommand(program: Command, context: CommandDeps): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', '\nExample:\n  valetkey-files completion bash >> ~/.bash_completion\n')
    .action((shell: (typeof SHELLS)[number]) => context.out(completionScript(program, shell)))
}
