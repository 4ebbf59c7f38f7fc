import { printResult } from '@valetkey/service-kit'
import { Argument, type Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { readAuthTime, setAuthTime } from './administer-auth-time.js'
import { createAuthTimeStore } from './auth-time-store.js'

export function addAuthTimeCommand(resourceServers: Command, context: CommandDeps): void {
  resourceServers
    .command('auth-time')
    .description(
      'show or set whether introspection says when the user signed in, for an API that needs recent sign-ins'
    )
    .argument('<client_id>')
    .addArgument(new Argument('[state]', 'without it, the command shows the present one').choices(['on', 'off']))
    .option('--json', 'print {"client_id","audience","auth_time"}')
    .action(async (clientId: string, state: 'on' | 'off' | undefined, { json }: { json?: boolean }) => {
      const deps = { authTimes: createAuthTimeStore(context.database()) }
      const document =
        state === undefined
          ? await readAuthTime(clientId, deps)
          : await setAuthTime({ clientId, isMarked: state === 'on' }, authorOf(context), deps)
      const line = `auth_time is ${document.auth_time ? 'on' : 'off'} for ${document.audience}`
      printResult(context, json, document, [line])
    })
}
