import type { Command } from 'commander'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'
import { registryAdministrationOf } from './registry-administration.js'

type Named = { clientId: string; name: string }

/** With fewer characters, the only client of a new server would match by accident. */
const SHORTEST = 6
/** More clients than an operator registers. */
const MOST_CLIENTS = 100_000

/**
 * Lets every command with a `<client_id>` take the name of the record, or the first 6 or more characters of its id, if only one
 * matches. An id that exists is always that record. Of clients, only those that operators registered can be named like this: users and
 * metadata documents choose the names of others.
 */
export function acceptShortIds(program: Command, context: CommandDeps): void {
  program.hook('preAction', async (_program, command) => {
    const index = command.registeredArguments.findIndex((argument) => argument.name() === 'client_id')
    const given: unknown = command.processedArgs[index]
    if (typeof given !== 'string') return
    const found = await findNamed(given, isBelow(command, 'resource-servers'), context)
    if (found === undefined) return
    context.say(`Using ${found.clientId} (${found.name}).\n`)
    command.processedArgs[index] = found.clientId
  })
}

function isBelow(command: Command, name: string): boolean {
  return command.name() === name || (command.parent !== null && isBelow(command.parent, name))
}

/** @returns undefined for an id that exists, and if nothing matches: the command says so then */
async function findNamed(given: string, isCredential: boolean, context: CommandDeps): Promise<Named | undefined> {
  const { clients, resourceServers } = registryAdministrationOf(context)
  const known: readonly Named[] = isCredential
    ? await resourceServers.listRegistrations()
    : await clients.listPage({ limit: MOST_CLIENTS }, 'registered')
  if (known.some(({ clientId }) => clientId === given)) return undefined
  const matching = known.filter(({ clientId, name }) => name === given || isStart(given, clientId))
  if (matching.length > 1) {
    const ids = matching.map(({ clientId, name }) => `${clientId} (${name})`).join(', ')
    throw new CommandFailure('usage', `${JSON.stringify(given)} is not unique: ${ids}`)
  }
  return matching[0]
}

const isStart = (given: string, clientId: string): boolean => given.length >= SHORTEST && clientId.startsWith(given)
