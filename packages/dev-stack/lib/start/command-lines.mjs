// Runs the two command lines as an operator does.
import { commandLines } from '../checkout.mjs'
import { nodeProgram } from '../processes/programs.mjs'

/** @import { End, Processes } from '../processes/processes.mjs' */
/** @typedef {keyof typeof commandLines} Service */
/**
 * The documents of most commands have only strings.
 * @typedef {<Document = Record<string, string>>(args: readonly string[], options?: { input?: string }) =>
 *   Promise<Document>} CommandLine
 */

/**
 * @param {{ service: Service, environment: NodeJS.ProcessEnv, processes: Processes }} options
 * @returns {CommandLine} a function that runs the command line of a service and returns its JSON document, if it printed one
 */
export function commandLine({ service, environment, processes }) {
  /**
   * @param {readonly string[]} args
   * @param {{ input?: string }} [options]
   * @returns {Promise<any>}
   */
  async function run(args, { input } = {}) {
    const result = await processes.run({
      name: args.join(' '),
      program: nodeProgram(commandLines[service], args),
      environment,
      input
    })
    if (result.code !== 0) throw new CommandFailed(service, args, result)
    return args.includes('--json') ? JSON.parse(result.stdout) : undefined
  }
  return run
}

const commandNames = { 'authorization-server': 'valetkey', 'resource-server': 'valetkey-files' }

/** Names the command that failed, with its message. */
export class CommandFailed extends Error {
  /**
   * @param {Service} service
   * @param {readonly string[]} args
   * @param {Pick<End, 'code' | 'signal'> & { stdout: string, stderr: string }} result
   */
  constructor(service, args, { code, signal, stdout, stderr }) {
    const words = (stderr.trim() || stdout.trim()).split('\n').slice(-15)
    const command = `${commandNames[service]} ${args.slice(0, 2).join(' ')}`
    super(`"${command}" failed (${signal ?? `exit code ${code}`}):\n${words.map((line) => `  ${line}`).join('\n')}`)
    this.name = 'CommandFailed'
  }
}
