import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { addMigrateCommand, adjustCommands, completionScript, readPackageVersion, SHELLS } from '@valetkey/service-kit'
import { Argument, Command } from 'commander'
import type { Feature } from '../../feature.js'
import { renewNameKeys } from '../../storage/postgres/name-keys.js'
import { addAuditCommands } from './audit-commands.js'
import { addClientCommands } from './client-commands.js'
import type { CommandDeps } from './command-deps.js'
import { addDoctorCommand } from './doctor-command.js'
import { addExamples } from './examples.js'
import { addGrantCommands } from './grant-commands.js'
import { addOperatorKeyCommands } from './operator-key-commands.js'
import { addRequestCommands } from './request-commands.js'
import { addResourceServerCommands } from './resource-server-commands.js'
import { addScopeCommands } from './scope-commands.js'
import { acceptShortIds } from './short-ids.js'
import { addUserCommands } from './user-commands.js'

const AFTER_HELP = `
Settings:
  DATABASE_URL (or DATABASE_URL_FILE)  the Postgres database of the authorization server; doctor reads all settings
                                       of the service
  DATABASE_DIRECT_URL                  the same database without the pooler, if DATABASE_URL leads to one

Output:
  Results go to stdout, everything else to stderr. With --json, stdout is one JSON document.
  A secret is printed once, when it is created. It cannot be shown again.

Exit codes:
  0  success
  1  failure, for example the database cannot be reached, or doctor found a fatal problem
  2  wrong usage or settings, or confirmation required (see --yes)
  3  not found
  4  conflict, for example the record exists already and differs
  130  interrupted
`

const PACKAGE_FILE = new URL('../../../package.json', import.meta.url)
const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url))

/** The command line of the authorization server. Only `doctor` needs more than the database; links also need ISSUER. */
export function buildProgram(context: CommandDeps, features: readonly Feature[]): Command {
  const program = new Command('valetkey')
    .description(
      'Manages a Valetkey authorization server: users, scopes, clients, apps of users, resource servers, grants and operator keys.'
    )
    .version(readPackageVersion(PACKAGE_FILE))
    .addHelpText('after', AFTER_HELP)
    // Commander removes the colours where the output is no terminal, or NO_COLOR is set.
    .configureHelp({ styleTitle: (title) => styleText('bold', title) })
    .configureOutput({ writeOut: context.out, writeErr: context.say })
    .exitOverride()
    .showHelpAfterError('(see --help)')
  addMigrateCommand(program, MIGRATIONS, { ...context, afterwards: () => renewNameKeys(context.database()) })
  addDoctorCommand(program, context, features)
  const users = addUserCommands(program, context, features)
  addScopeCommands(program, context)
  const clients = addClientCommands(program, context, features)
  const resourceServers = addResourceServerCommands(program, context, features)
  addGrantCommands(program, context)
  addOperatorKeyCommands(program, context)
  addAuditCommands(program, context)
  addRequestCommands(program, context)
  const tokens = new Command('tokens').copyInheritedSettings(program).description('access tokens and refresh tokens')
  for (const feature of features) feature.addCommands?.({ program, clients, resourceServers, tokens, users }, context)
  // Only features have commands of this group.
  if (tokens.commands.length > 0) program.addCommand(tokens)
  acceptShortIds(program, context)
  addCompletionCommand(program, context)
  addExamples(program, features)
  adjustCommands(program)
  return program
}

function addCompletionCommand(program: Command, context: CommandDeps): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => context.out(completionScript(program, shell)))
}
