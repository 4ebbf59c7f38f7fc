import { printFindings } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { Feature } from '../../feature.js'
import { examine } from '../doctor/examine.js'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'

export function addDoctorCommand(program: Command, context: CommandDeps, features: readonly Feature[]): void {
  program
    .command('doctor')
    .description('check the settings of the service, its stores and the clients; needs all settings of the service')
    .option('--json', 'print {"findings":[…],"fatal":…,"warnings":…}')
    .action(async ({ json }: { json?: boolean }) => {
      const fatal = printFindings(context, json, await examine(context.environment(), features))
      if (fatal > 0) throw new CommandFailure('failed', `fatal findings: ${fatal}`)
    })
}
