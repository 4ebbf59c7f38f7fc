// Runs the two command lines as an operator does.
import { commandLines } from '../checkout.mjs'
import { nodeProgram } from '../processes/programs.mjs'

/** @returns a function that runs the command line of a service and returns its JSON document, if it printed one */
export function commandLine({ service, environment, processes }) {
  return async (args, { input } = {}) => {
    const result = await processes.run({
      name: args.join(' '),
      program: nodeProgram(commandLines[service], args),
      environment,
      input
    })
    if (result.code !== 0) throw new CommandFailed(service, args, result)
    return args.includes('--json') ? JSON.parse(result.stdout) : undefined
  }
}

const commandNames = { 'authorization-server': 'valetkey', 'resource-server': 'valetkey-files' }

/** Names the command that failed, with its message. */
export class CommandFailed extends Error {
  constructor(service, args, { code, signal, stdout, stderr }) {
    const words = (stderr.trim() || stdout.trim()).split('\n').slice(-15)
    const command = `${commandNames[service]} ${args.slice(0, 2).join(' ')}`
    super(`"${command}" failed (${signal ?? `exit code ${code}`}):\n${words.map((line) => `  ${line}`).join('\n')}`)
    this.name = 'CommandFailed'
  }
}
