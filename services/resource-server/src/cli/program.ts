import { Command } from 'commander'
import type { CommandContext } from './context.js'
import { addDeleteCommand } from './delete-command.js'
import { addDoctorCommand } from './doctor-command.js'
import { addImportCommand } from './import-command.js'
import { addMigrateCommand } from './migrate-command.js'

const AFTER_HELP = `
Settings:
  RESOURCE_DATABASE_URL (or RESOURCE_DATABASE_URL_FILE)  the Postgres database of the resource server;
                                                         doctor needs all that the service needs

Output:
  Results go to stdout, everything else to stderr. With --json stdout holds one JSON document and nothing else.

Exit codes:
  0  done; for an import also if single entries could not be read (they are named and counted)
  1  failed, for example because the database or the directory cannot be reached, or doctor found something fatal
  2  wrong usage or settings, or a question that nobody can answer (see --yes)
  130  interrupted; what was entered stays, and the same command goes on from there
`

/** The command line of the resource server. It needs the database only. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('valetkey-files')
    .description('Keeps the books of a Valetkey resource server: which files each user has.')
    .addHelpText('after', AFTER_HELP)
    .configureOutput({ writeOut: context.out, writeErr: context.say })
    .exitOverride()
    .showHelpAfterError('(see --help)')
  addMigrateCommand(program, context)
  addDoctorCommand(program, context)
  addImportCommand(program, context)
  addDeleteCommand(program, context)
  return program
}
