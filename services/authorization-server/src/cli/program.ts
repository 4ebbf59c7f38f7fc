import { Command } from 'commander'
import { addAuditCommands } from './audit-commands.js'
import { addClientCommands } from './client-commands.js'
import type { CommandContext } from './context.js'
import { addDoctorCommand } from './doctor-command.js'
import { addGrantCommands } from './grant-commands.js'
import { addMigrateCommand } from './migrate-command.js'
import { addOperatorKeyCommands } from './operator-key-commands.js'
import { addResourceServerCommands } from './resource-server-commands.js'
import { addScopeCommands } from './scope-commands.js'
import { addUserCommands } from './user-commands.js'

const AFTER_HELP = `
Settings:
  DATABASE_URL (or DATABASE_URL_FILE)  the Postgres database of the authorization server; doctor needs all that the
                                       service needs

Output:
  Results go to stdout, everything else to stderr. With --json stdout holds one JSON document and nothing else.
  A secret is printed once, when it is made, and can never be shown again.

Exit codes:
  0  done
  1  failed, for example because the database cannot be reached, or doctor found something fatal
  2  wrong usage or settings, or a question that nobody can answer (see --yes)
  3  what was named does not exist
  4  it exists already, and differs
  130  interrupted
`

/** The command line of the authorization server. It needs the database only. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('valetkey')
    .description(
      'Runs the books of a Valetkey authorization server: users, scopes, clients, resource servers, grants, operator keys.'
    )
    .addHelpText('after', AFTER_HELP)
    .configureOutput({ writeOut: context.out, writeErr: context.say })
    .exitOverride()
    .showHelpAfterError('(see --help)')
  addMigrateCommand(program, context)
  addDoctorCommand(program, context)
  addUserCommands(program, context)
  addScopeCommands(program, context)
  addClientCommands(program, context)
  addResourceServerCommands(program, context)
  addGrantCommands(program, context)
  addOperatorKeyCommands(program, context)
  addAuditCommands(program, context)
  return program
}
